#!/bin/sh
# Installs the Debian packages named that are missing: with apt-get, through sudo when not root. Elsewhere it says what is
# needed and goes on: the compiler will say what is really missing.
set -u

missing=
for package in "$@"; do
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) || status=
    [ "$status" = 'install ok installed' ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "prebreak: no apt-get here; please install what these Debian packages hold:$missing" >&2
    exit 0
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "prebreak: not root and no sudo; please install:$missing" >&2
        exit 1
    fi
    as_root=sudo
fi

echo "prebreak: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Packages that bring a service must not start it: the tests start their own. Debian's way to say so is this file (under
# systemd too, where RUNLEVEL says nothing); one that is there already is somebody's word, and stays.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ] && [ ! -L "$policy" ]; then
    trap 'rm -f "$log"; $as_root rm -f "$policy"' EXIT
    trap 'exit 1' INT TERM
    # shellcheck disable=SC2016 # $0 is the inner shell's
    printf '#!/bin/sh\nexit 101\n' | $as_root sh -c 'cat >"$0" && chmod 755 "$0"' "$policy"
fi
install() {
    # shellcheck disable=SC2086 # words are meant to be split
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
}
{ install || { $as_root apt-get update && install; }; } >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    echo "prebreak: could not install$missing" >&2
    exit 1
}
