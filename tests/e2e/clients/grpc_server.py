"""A server of gRPC whose method /acme/NAME answers with the status of that name. Prints its port; then each call's."""

import sys
from concurrent import futures
import grpc


class Acme(grpc.GenericRpcHandler):
    def service(self, details):
        name = details.method.rpartition("/")[2]

        def answer(request, context):
            sys.stdout.write(name + "\n")
            sys.stdout.flush()
            if name != "OK":
                context.abort(grpc.StatusCode[name], "as it was told")
            return request

        return grpc.unary_unary_rpc_method_handler(answer)


server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((Acme(),))
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
server.wait_for_termination()
