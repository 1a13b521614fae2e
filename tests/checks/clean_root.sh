# A root folder with a clean Debian, for scripts that source this file and set root, and archives (packages that apt keeps).
clean_root_or_left_out() {
  command -v mmdebstrap >/dev/null || { echo "left out: no mmdebstrap here (apt-get install mmdebstrap)"; exit 0; }
  [ "$(id -u)" -eq 0 ] || { echo "left out: a root folder is made by root alone"; exit 0; }
}
inside() { # a command in the clean system, with a mount table of its own that ends with it
  unshare --mount --pid --fork --kill-child bash -c '
    root=$1 archives=$2
    shift 2
    mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" &&
      mount --bind "$archives" "$root/var/cache/apt/archives" &&
      exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' \
    inside "$root" "$archives" "$@"
}
