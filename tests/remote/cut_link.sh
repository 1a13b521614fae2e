#!/bin/bash
# A link that is cut amid a job of two ranks, each in a network namespace of its own: cut_link.sh BUILD TRANSPORT SETTING.
# SETTING is the variable with a rank's address: cut_link.sh build/release ofi CONSORT_OFI__NETWORK. As root, with ip (iproute2).
# Each rank must say within 2.5 s that the other is lost, and end by an error.
set -u
build=$(realpath "$1") transport=$2 setting=$3
a=consort-a-$$ b=consort-b-$$
job=$(mktemp -d)
clean() {
  ip netns del "$a"
  ip netns del "$b"
  rm -rf "$job"
}
trap clean EXIT
ip netns add "$a" && ip netns add "$b" || exit 1
ip link add cut-a$$ type veth peer name cut-b$$ || exit 1
ip link set cut-a$$ netns "$a" && ip link set cut-b$$ netns "$b"
ip -n "$a" addr add 10.9.0.1/24 dev cut-a$$ && ip -n "$b" addr add 10.9.0.2/24 dev cut-b$$
for n in "$a" "$b"; do ip -n "$n" link set lo up; done
ip -n "$a" link set cut-a$$ up && ip -n "$b" link set cut-b$$ up
od -An -tx1 -N16 /dev/urandom | tr -d ' \n' > "$job/secret"
chmod 600 "$job/secret"

rank() { # rank NUMBER NAMESPACE ADDRESS: its lines, each with the time
  ip netns exec "$2" env CONSORT_RENDEZVOUS="$job" CONSORT_RANK="$1" CONSORT_RANKS=2 CONSORT_TRANSPORT="$transport" \
    "$setting=$3" CONSORT_WORKERS=1 sh -c "timeout 100 '$build/bin/diffusion' --steps 50000 --n 400 2>&1; echo status \$?" |
    while IFS= read -r line; do echo "$(date +%s%N) $line"; done > "$job/rank$1"
}
rank 0 "$a" 10.9.0.1 &
rank 1 "$b" 10.9.0.2 &
sleep 3
cut=$(date +%s%N)
ip -n "$a" link set cut-a$$ down
wait
failed=0
for r in 0 1; do
  told=$(grep -m1 -E 'has ended, or its connection is broken' "$job/rank$r" | cut -d' ' -f1)
  status=$(sed -n 's/^[0-9]* status //p' "$job/rank$r")
  if [ -z "$told" ] || [ "$status" != 1 ] || [ $(((told - cut) / 1000000)) -gt 2500 ]; then
    failed=1
    echo "rank $r: the loss told ${told:+after $(((told - cut) / 1000000)) ms}${told:-never}, status $status:"
    cat "$job/rank$r"
  else
    echo "rank $r: told of the loss after $(((told - cut) / 1000000)) ms, ended by an error"
  fi
done
exit $failed
