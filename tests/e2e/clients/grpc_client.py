"""Calls the methods of /acme at HOST:PORT, one after the other, and prints the status of each; so does each of THREADS
threads, over one connection: grpc_client.py HOST:PORT THREADS METHOD..."""

import sys, threading
import grpc


def call_all():
    for method in sys.argv[3:]:
        try:
            channel.unary_unary("/acme/" + method)(b"x" * 20000, timeout=20)
            said = "OK"
        except grpc.RpcError as error:
            said = error.code().name
        sys.stdout.write(said + "\n")


with grpc.insecure_channel(sys.argv[1], options=[("grpc.enable_http_proxy", 0)]) as channel:
    threads = [threading.Thread(target=call_all) for _ in range(int(sys.argv[2]))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
