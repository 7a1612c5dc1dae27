//go:build linux

package hosts

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
)

// ErrUnavailable: this machine does not let us make networks. Usual causes: no /dev/net/tun,
// neither root nor user namespaces.
var ErrUnavailable = errors.New("hosts: this machine does not allow networks of one's own")

// Host is an address of the network, where one process at a time may run. Start, Wait and Kill of
// one host are for one goroutine at a time.
type Host struct {
	network *Network
	addr    netip.Addr

	// Of the process that runs, else nil. The network's lock guards device.
	cmd    *exec.Cmd
	device *device
	gone   chan struct{} // closed when nothing is carried for the process any more
}

// Addr is the host's address.
func (h *Host) Addr() netip.Addr { return h.addr }

// The environment in which Start tells a process what Enter needs.
const (
	envAddr   = "COTERIE_HOST_ADDR"
	envSocket = "COTERIE_HOST_SOCKET" // the number of the file on which the device is handed over
)

// Start starts a command on the host. Its program has to call Enter before it uses the network, and
// Start returns when it has. The fields of the command may be set as ever: Start adds to Env,
// ExtraFiles and SysProcAttr. Errors: ErrUnavailable, and those of exec.
func (h *Host) Start(cmd *exec.Cmd) error {
	if h.cmd != nil {
		return fmt.Errorf("hosts: a process runs on %v already; Wait for it or Kill it", h.addr)
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	inNamespace(cmd)
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, envAddr+"="+h.addr.String(), fmt.Sprintf("%s=%d", envSocket, 3+len(cmd.ExtraFiles)))
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return unavailable(err)
	}
	dev, err := receiveDevice(ours)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return err
	}
	h.run(cmd, dev)
	return nil
}

// inNamespace has a command run in a network namespace of its own, which takes a user namespace for
// all but root.
func inNamespace(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	a := cmd.SysProcAttr
	a.Cloneflags |= syscall.CLONE_NEWNET
	if os.Geteuid() != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
}

// unavailable marks the errors of a machine that does not let us make namespaces.
func unavailable(err error) error {
	for _, cause := range []error{syscall.EPERM, syscall.EINVAL, syscall.ENOSYS, syscall.ENOSPC} {
		if errors.Is(err, cause) {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return err
}

func (h *Host) run(cmd *exec.Cmd, d *device) {
	n, gone := h.network, make(chan struct{})
	n.mu.Lock()
	h.cmd, h.device, h.gone = cmd, d, gone
	n.mu.Unlock()
	go func() {
		defer close(gone)
		d.carry(func(packet []byte) *device { return n.route(h, packet) })
	}()
}

// Wait waits for the process to end, as Cmd.Wait does. The caller that started it calls Wait or
// Kill, once.
func (h *Host) Wait() error {
	err := h.cmd.Wait()
	n := h.network
	n.mu.Lock()
	d := h.device
	h.device = nil
	n.mu.Unlock()
	d.close()
	<-h.gone
	h.cmd = nil
	return err
}

// Kill is kill -9, and Wait. It does nothing when no process runs.
func (h *Host) Kill() {
	if h.cmd != nil {
		_ = h.cmd.Process.Kill()
		_ = h.Wait()
	}
}
