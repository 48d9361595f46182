# curl URL FILE OPTION
curl -sS "$3" -H Expect: -X POST -T "$2" "$1" | sha256sum | cut -d ' ' -f 1
