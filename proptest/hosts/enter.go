//go:build linux

package hosts

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Enter is the first thing that a program calls which Host.Start runs: it makes the devices of its
// namespace and connects them with the switch. In a process that was not started so it does nothing
// and says false.
func Enter() (entered bool, err error) {
	number := os.Getenv(envSocket)
	if number == "" {
		return false, nil
	}
	addr, err := netip.ParseAddr(os.Getenv(envAddr))
	if err != nil {
		return false, err
	}
	fd, err := strconv.Atoi(number)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	for _, name := range []string{envAddr, envSocket} { // the program's own children are on its host
		if err := os.Unsetenv(name); err != nil {
			return false, err
		}
	}
	tun, err := plug(addr)
	if err != nil {
		_, _ = unix.Write(fd, []byte(err.Error()))
		return false, err
	}
	defer unix.Close(tun)
	return true, unix.Sendmsg(fd, []byte{0}, unix.UnixRights(tun), nil, 0)
}

// plug makes the TUN device of this namespace, gives it its address, and brings it and the loopback
// device up.
func plug(addr netip.Addr) (tun int, err error) {
	const path, name = "/dev/net/tun", "tun0"
	if tun, err = unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			unix.Close(tun)
		}
	}()
	control, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(control)
	ip, mask := addr.As4(), [4]byte{255, 255, 255, 0} // of subnet
	for _, step := range []struct {
		what    string
		fd      int
		request uint
		device  string
		set     func(*unix.Ifreq) error
	}{
		{"make " + name, tun, unix.TUNSETIFF, name, func(r *unix.Ifreq) error {
			r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			return nil
		}},
		{"set the address of " + name, control, unix.SIOCSIFADDR, name,
			func(r *unix.Ifreq) error { return r.SetInet4Addr(ip[:]) }},
		{"set the mask of " + name, control, unix.SIOCSIFNETMASK, name,
			func(r *unix.Ifreq) error { return r.SetInet4Addr(mask[:]) }},
		{"bring " + name + " up", control, unix.SIOCSIFFLAGS, name, func(r *unix.Ifreq) error {
			r.SetUint16(unix.IFF_UP)
			return nil
		}},
		{"bring lo up", control, unix.SIOCSIFFLAGS, "lo", func(r *unix.Ifreq) error {
			r.SetUint16(unix.IFF_UP)
			return nil
		}},
	} {
		request, err := unix.NewIfreq(step.device)
		if err == nil {
			err = step.set(request)
		}
		if err == nil {
			err = unix.IoctlIfreq(step.fd, step.request, request)
		}
		if err != nil {
			return -1, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return tun, nil
}
