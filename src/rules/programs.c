#include "rules/programs.h"

#include "rules/rules.h"
#include <stddef.h>

/*
 * Shells are not among them: what they start is to be reached, and scripts open /dev/tcp. Nor are the package managers of
 * languages, which are ordinary programs under an interpreter's name.
 */
static const struct {
    const char *globs;
    const char *why;
    const char *paths; /* globs on the whole path, for names that others have too; NULL: none */
} spared[] = {
    {.globs = "init systemd systemd-* (sd-pam) runit runit-init runsv runsvdir s6-* openrc openrc-* tini dumb-init "
              "catatonit supervisord monit upstart",
     .why = "it starts and stops everything else"},
    {.globs = "sshd sshd-* sftp-server dropbear telnetd in.* getty agetty mingetty login",
     .why = "it lets people in to repair the machine"},
    {.globs = "sudo su doas pkexec runuser polkitd passwd chpasswd newgrp unix_chkpwd",
     .why = "it hands out privileges"},
    {.globs = "nscd nslcd sssd sssd_* winbindd dnsmasq named unbound resolvconf dhclient dhcpcd "
              "NetworkManager chronyd ntpd ntpdate",
     .why = "names, users, addresses and the time of the whole machine depend on it"},
    {.globs = "apt apt-get apt-cache apt-mark apt-key aptitude dpkg dpkg-* debootstrap unattended-upgr* rpm rpm2cpio "
              "yum dnf dnf-3 microdnf zypper "
              "pacman apk emerge snap snapd flatpak nix nix-* guix",
     .why = "a package half installed is worse than one that was waited for",
     .paths = "/usr/lib/apt/* /usr/lib/dpkg/* /usr/libexec/apt/*"},
    {.globs = "docker dockerd docker-compose docker-proxy docker-init containerd containerd-* ctr runc crun kata-* "
              "podman conmon buildah skopeo "
              "nerdctl crio kubelet kube-* lxc lxc-* lxd incus incusd bwrap",
     .why = "it runs containers, whose programs are told by themselves"},
    {.globs =
         "cc c++ cpp c89 c99 gcc gcc-* *-gcc *-gcc-* g++ g++-* *-g++ *-g++-* cc1 cc1plus collect2 lto1 lto-wrapper "
         "clang clang-* clang++ clang++-* tcc as *-linux-gnu*-as ld ld.* *-linux-gnu*-ld gold lld ld64.lld ar ranlib "
         "nm objcopy objdump "
         "strip rustc make gmake ninja cmake ctest meson automake autoconf m4 pkg-config pkgconf",
     .why = "it builds programs and calls nobody"},
};

const char *rules_program_spared(const char *name, const char *path)
{
    for (size_t i = 0; i < sizeof spared / sizeof *spared; i++) {
        bool found = rules_globs_match(spared[i].globs, name) ||
                     (path != NULL && spared[i].paths != NULL && rules_globs_match(spared[i].paths, path));
        if (found) {
            return spared[i].why;
        }
    }
    return NULL;
}
