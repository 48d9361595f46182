import http.client, sys, urllib.parse

server = urllib.parse.urlsplit(sys.argv[1])
connection = http.client.HTTPConnection(server.hostname, server.port, timeout=20)
for line in sys.stdin:
    leave, seen, how = line.strip() == "leave", 0, "whole"
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        while text := answer.readline():
            seen += text.startswith(b"data:")
            if leave and seen:
                how = "left"
                answer.close()
                connection.close()
                break
        if how == "whole":
            answer.read()
        how = how if answer.status == 200 else answer.status
        # readline() takes a chunked body that is cut off for one that ended
        if answer.chunked and answer.chunk_left is not None and how == "whole":
            how = "cut"
            connection.close()
    except (OSError, http.client.HTTPException):
        how = "cut" if seen else "refused"
        connection.close()
    print(seen, how, flush=True)
