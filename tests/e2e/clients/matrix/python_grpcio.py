import os, sys

# Names as the system resolves them: its own resolver knows nothing of those of the tests.
os.environ["GRPC_DNS_RESOLVER"] = "native"
import grpc

host, port, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = [("grpc.http2.bdp_probe", 0), ("grpc.enable_http_proxy", 0)]
trusted = os.environ.get("SSL_CERT_FILE")
if trusted:
    credentials = grpc.ssl_channel_credentials(open(trusted, "rb").read())
    channel = grpc.secure_channel(f"{host}:{port}", credentials, options)
else:
    channel = grpc.insecure_channel(f"{host}:{port}", options)
with channel:
    call = channel.unary_unary("/acme.Test/Ping")
    for _ in range(count):
        try:
            call(b"", timeout=3)
            print("OK")
        except grpc.RpcError as error:
            print(error.details())
