//go:build linux

package hosts

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// device is the switch's end of a process's TUN device: what is read was sent by the process, what
// is written it receives.
type device struct {
	file *os.File
}

const packetMax = 1 << 16 // more than a TUN device hands over at a time

// carry hands over what the process sends until the device is closed.
func (d *device) carry(route func(packet []byte) *device) {
	packet := make([]byte, packetMax)
	for {
		n, err := d.file.Read(packet)
		if err != nil {
			return
		}
		if to := route(packet[:n]); to != nil {
			// a receiver whose process has just ended, or whose queue is full, loses it, as on any
			// network
			_, _ = to.file.Write(packet[:n])
		}
	}
}

func (d *device) close() { _ = d.file.Close() }

// receiveDevice takes over the device that Enter has made in the process at the other end, or what
// it says instead.
func receiveDevice(socket *os.File) (*device, error) {
	const textMax = 1 << 10
	text, rights := make([]byte, textMax), make([]byte, unix.CmsgSpace(4))
	n, rn, _, _, err := unix.Recvmsg(int(socket.Fd()), text, rights, unix.MSG_CMSG_CLOEXEC)
	switch {
	case err != nil:
		return nil, err
	case n == 0:
		return nil, fmt.Errorf("hosts: the process ended before it called Enter: %w", io.ErrUnexpectedEOF)
	case rn == 0:
		return nil, fmt.Errorf("%w: %s", ErrUnavailable, text[:n])
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rn])
	if err != nil {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("hosts: the process handed over %d devices: %w",
			len(fds), errors.Join(err, syscall.EBADMSG))
	}
	if err := unix.SetNonblock(fds[0], true); err != nil { // so that close ends a read
		return nil, err
	}
	return &device{os.NewFile(uintptr(fds[0]), "tun")}, nil
}
