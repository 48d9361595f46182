import httpx, sys

client = httpx.Client(timeout=20)
for line in sys.stdin:
    leave, seen, how = line.strip() == "leave", 0, "whole"
    try:
        with client.stream("GET", sys.argv[1]) as answer:
            for text in answer.iter_lines():
                seen += text.startswith("data:")
                if leave and seen:
                    how = "left"
                    break
            how = how if answer.status_code == 200 else answer.status_code
    except httpx.HTTPError:
        how = "cut" if seen else "refused"
    print(seen, how, flush=True)
