# Common parts of the planted causes, for `sh`. A case calls `begin` (the server; its process is $server), `beside`
# (anything else that runs meanwhile), `load`, and at the end `audit`. All of it is in a network namespace of its own;
# the audit is in that of the host. Whatever was started or set is taken back at the end.
#
# An audit takes $SECONDS_LONG. With $MEASURE, `audit` prints the requests per second of the load instead; with $CLEAN
# as well, the cause, which is what `plant` and `with` are given, is left out.
set -u
pids=
undo=:
take_back() {
  for pid in $pids; do kill -CONT "$pid"; kill -9 "$pid"; done 2> /dev/null
  wait 2> /dev/null
  eval "$undo"
}
trap take_back EXIT
ip link set lo up

# later COMMAND: done at the end, the last one first
later() { undo="$*; $undo"; }

# until COMMAND: waits for a condition, at most ten seconds
until_true() {
  tries=0
  until eval "$*"; do
    tries=$((tries + 1))
    [ $tries -lt 1000 ] || { echo "waited in vain for: $*" >&2; exit 9; }
    sleep 0.01
  done
}

# begin [PREFIX ...] SERVER SIN AMOUNT ...: the server, on the first CPU unless $cpus says otherwise
begin() {
  taskset -c "${cpus:-0}" "$@" > "${log:-server.log}" 2>&1 &
  server=$!
  pids="$pids $server"
  until_true "grep -q ':1F90 00000000:0000 0A' /proc/$server/net/tcp"
}

# plant COMMAND ...: the cause, as something that is done
plant() { [ -n "${CLEAN:-}" ] || "$@"; }

# with WORD ...: the cause, as words of a command
with() { [ -n "${CLEAN:-}" ] || echo "$@"; }

# without WORD ...: words of a command of the healthy server
without() { [ -z "${CLEAN:-}" ] || echo "$@"; }

beside() {
  "$@" > beside.log 2>&1 &
  pids="$pids $!"
}

# load [FLAGS of bench http]: requests from the second CPU ($loads), for longer than the audit takes
load() {
  taskset -c "${loads:-1}" "$PROGRAM" bench http http://127.0.0.1:8080/ -d "${MEASURE:-6s}" --warmup 0 --json "$@" \
    > load.json 2> load.log &
  loader=$!
  pids="$pids $loader"
  until_true "grep -q ':1F90 .* 01 ' /proc/net/tcp"
}

audit() {
  if [ -n "${MEASURE:-}" ]; then
    wait "$loader"
    sed -n '/"summary"/,/"median"/s/.*"median": \([0-9.]*\).*/\1/p' load.json | head -1
    return
  fi
  nsenter --net="$HOME_NETWORK" "$PROGRAM" tune audit --json --seconds "$SECONDS_LONG" --for "$LOAD" --pid "$server"
}
