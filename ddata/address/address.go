package address

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"unicode/utf8"
)

// Max bounds an address, in bytes. A member of the cluster has no longer one.
const Max = 256

// ErrBad says that an address does not have the form that its use needs.
var ErrBad = errors.New("bad address")

// CheckListen accepts host:port with a number for a port. An empty host stands for all interfaces,
// and port 0 for a free port. The error is an ErrBad.
func CheckListen(addr string) error {
	_, err := port(addr)
	return err
}

// CheckAdvertised accepts what CheckListen does, if it names a host. The error is an ErrBad.
func CheckAdvertised(addr string) error {
	_, err := port(addr)
	if err == nil && !NamesHost(addr) {
		err = fmt.Errorf("%w %q: it names no host that others can dial", ErrBad, addr)
	}
	return err
}

// CheckPeer accepts an address that can be dialled: it names a host, and a port above 0. The error
// is an ErrBad.
func CheckPeer(addr string) error {
	n, err := port(addr)
	if err == nil && (n == 0 || !NamesHost(addr)) {
		err = fmt.Errorf("%w %q: a peer's address needs a host, and a port above 0", ErrBad, addr)
	}
	return err
}

// NamesHost reports whether an address, host:port, names a host. An empty host, 0.0.0.0 and ::
// stand for all interfaces of the process that listens there, and mean nothing to others.
func NamesHost(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err != nil || !ip.IsUnspecified()
}

// port returns the port of an address, host:port.
func port(addr string) (uint16, error) {
	if len(addr) > Max || !utf8.ValidString(addr) {
		return 0, fmt.Errorf("%w: longer than %d bytes or not UTF-8", ErrBad, Max)
	}
	_, text, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, fmt.Errorf("%w %q: want host:port", ErrBad, addr)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%w %q: the port must be a number up to 65535", ErrBad, addr)
	}
	return uint16(n), nil
}
