package etcdtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// Server is one member of a cluster. Its methods may be called concurrently.
type Server struct {
	addr string
	bin  string
	args []string

	mu      sync.Mutex
	process *process // nil while it does not run
}

// Addr returns where the member takes clients, as host:port.
func (m *Server) Addr() string { return m.addr }

// Start starts the member if it does not run, and waits until it is ready. That needs most members of
// its cluster.
func (m *Server) Start(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process != nil {
		return nil
	}
	p, err := start(exec.Command(m.bin, m.args...))
	if err != nil {
		return err
	}
	select {
	case err = <-p.ready:
	case <-ctx.Done():
		p.end()
		err = ctx.Err()
	}
	if err == nil {
		m.process = p
	}
	return err
}

// Kill kills the member with SIGKILL, and returns when it is gone. Its files stay.
func (m *Server) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process != nil {
		m.process.end()
		m.process = nil
	}
}

// Pause stops the member with SIGSTOP until Resume: it answers nothing meanwhile.
func (m *Server) Pause() error { return m.signal(syscall.SIGSTOP) }

// Resume has a paused member go on.
func (m *Server) Resume() error { return m.signal(syscall.SIGCONT) }

func (m *Server) signal(what syscall.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil {
		return errors.New("etcdtest: the member does not run")
	}
	return m.process.cmd.Process.Signal(what)
}

// process is one run of a member.
type process struct {
	cmd    *exec.Cmd
	log    io.ReadCloser
	ready  chan error // gets one element
	exited chan struct{}
}

// start starts a run. The kernel ends it when the thread ends that started it: a goroutine keeps that
// thread for itself.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ready: make(chan error, 1), exited: make(chan struct{})}
	cmd.SysProcAttr = dieWithParent()
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	p.log = log
	started := make(chan error, 1)
	go p.run(started)
	return p, <-started
}

func (p *process) run(started chan<- error) {
	lockThread()
	defer close(p.exited)
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.read()
	_ = p.cmd.Wait() // how it ended is in its log
}

// read says when the member is ready, and takes in the rest of its log.
func (p *process) read() {
	var said []string
	lines := bufio.NewScanner(p.log)
	for lines.Scan() {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "serving client traffic") {
			p.ready <- nil
			_, _ = io.Copy(io.Discard, p.log) // until the member ends
			return
		}
	}
	p.ready <- fmt.Errorf("etcdtest: the member ended: %s", strings.Join(said, "\n"))
}

// end kills the process and waits for its end.
func (p *process) end() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
}
