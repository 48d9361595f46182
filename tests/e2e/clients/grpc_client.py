"""Calls the methods of /acme at HOST:PORT, one after the other, and prints the status of each: grpc_client.py HOST:PORT
METHOD..."""

import sys
import grpc

with grpc.insecure_channel(sys.argv[1], options=[("grpc.enable_http_proxy", 0)]) as channel:
    for method in sys.argv[2:]:
        try:
            channel.unary_unary("/acme/" + method)(b"x" * 20000, timeout=20)
            print("OK")
        except grpc.RpcError as error:
            print(error.code().name)
