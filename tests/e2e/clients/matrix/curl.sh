# curl URL COUNT SECONDS: one process, one connection
curl -sS -m "$3" -o /dev/null -w '%{http_code} %{errormsg}\n' "$1[1-$2]" 2>/dev/null | sed 's/^000 //; s/^\([0-9]*\) .*/\1/'
