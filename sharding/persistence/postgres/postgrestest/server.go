package postgrestest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/coterie-go/coterie/proptest/ports"
)

// User is the name of the server's superuser, which logs in without a password.
const User = "postgres"

// Server is a PostgreSQL server. Its methods may be called concurrently.
type Server struct {
	bin, dir string
	port     string
	owner    *os.File            // locked while this process runs
	account  *syscall.Credential // nil: that of this process

	mu      sync.Mutex
	process *process // nil while it does not run
}

// New makes a server in a directory of its own and starts it. Settings are lines of
// postgresql.conf. ErrMissing says that no PostgreSQL is installed. Directories of processes that were
// killed are removed.
func New(ctx context.Context, settings ...string) (*Server, error) {
	return newServer(ctx, func(s *Server) error {
		err := s.run(ctx, "initdb", "-D", s.data(), "-U", User, "--auth=trust", "--no-sync", "--encoding=UTF8",
			"--locale=C")
		if err != nil {
			return err
		}
		return s.configure(append([]string{
			"listen_addresses = '127.0.0.1'", "fsync = off", "max_connections = 200", "log_min_messages = warning",
			"lc_messages = 'C'", "shared_buffers = 64MB", "autovacuum_naptime = 5s",
		}, settings...)...)
	})
}

// newServer makes a server whose files a function makes, and starts it.
func newServer(ctx context.Context, files func(*Server) error) (*Server, error) {
	bin, err := Find()
	if err != nil {
		return nil, err
	}
	removeLeftovers(os.TempDir())
	dir, err := os.MkdirTemp("", dirPattern)
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir}
	if s.owner, err = own(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err = s.prepare(); err == nil {
		err = files(s)
	}
	if err == nil {
		err = s.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare finds an account and a port for a new server.
func (s *Server) prepare() (err error) {
	if s.account, err = account(); err != nil {
		return err
	}
	if s.account != nil {
		if err := os.Chown(s.dir, int(s.account.Uid), int(s.account.Gid)); err != nil {
			return err
		}
	}
	addrs, err := ports.Free(1)
	if err != nil {
		return err
	}
	_, s.port, err = net.SplitHostPort(addrs[0])
	return err
}

// configure adds lines to postgresql.conf, where the last line of a setting counts.
func (s *Server) configure(settings ...string) error {
	conf, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	own := []string{"port = " + s.port, "unix_socket_directories = '" + s.dir + "'"}
	_, err = io.WriteString(conf, strings.Join(append(own, settings...), "\n")+"\n")
	return errors.Join(err, conf.Close())
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command makes a command of one of the server's programs.
func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	c.Dir = s.dir
	c.Env = []string{"PATH=" + s.bin, "LC_ALL=C", "TZ=UTC"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.account}
	return c
}

// run runs one of the server's programs to its end.
func (s *Server) run(ctx context.Context, name string, args ...string) error {
	if out, err := s.command(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("postgrestest: %s: %w: %s", name, err, out)
	}
	return nil
}

// DSN returns the connection string of the server at its Unix socket.
func (s *Server) DSN() string {
	return fmt.Sprintf("host=%s port=%s user=%s dbname=postgres sslmode=disable", s.dir, s.port, User)
}

// Addr returns the address of the server on the loopback device.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", s.port) }

// Start starts the server if it does not run, and waits until it takes connections. After a kill
// the former processes need a moment to end: until then a start is refused, and repeated.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		return nil
	}
	const tries = 200
	for try := 0; ; try++ {
		p, err := start(s.command(context.WithoutCancel(ctx), "postgres", "-D", s.data()))
		if err == nil {
			err = p.waitReady(ctx)
		}
		if err == nil {
			s.process = p
			return nil
		}
		if ctx.Err() != nil || try == tries || !strings.Contains(err.Error(), "still in use") {
			return fmt.Errorf("postgrestest: start: %w", err)
		}
	}
}

// Stop ends the server without waiting for its clients, and keeps its files.
func (s *Server) Stop() error {
	_ = s.Resume() // it may not run; a paused server would not end
	return s.end(syscall.SIGINT)
}

// Kill kills the server's processes, and returns when they are gone.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

func (s *Server) end(how syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	err := s.process.end(how)
	s.process = nil
	return err
}

// Close ends the server and removes its files.
func (s *Server) Close() error {
	return errors.Join(s.Stop(), os.RemoveAll(s.dir), s.owner.Close())
}

// process is one run of the server.
type process struct {
	cmd    *exec.Cmd
	log    io.ReadCloser
	ready  chan error // gets one element
	exited chan struct{}
}

// start starts a run. The kernel ends it when the thread ends that started it: a goroutine keeps
// that thread for itself.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ready: make(chan error, 1), exited: make(chan struct{})}
	dieWithParent(cmd.SysProcAttr)
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

// read says when the server is ready, and takes in the rest of its log.
func (p *process) read() {
	var said []string
	lines := bufio.NewScanner(p.log)
	for lines.Scan() {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "ready to accept ") { // connections, or read-only ones
			p.ready <- nil
			_, _ = io.Copy(io.Discard, p.log) // until the server ends
			return
		}
	}
	p.ready <- fmt.Errorf("the server ended: %s", strings.Join(said, "\n"))
}

func (p *process) waitReady(ctx context.Context) error {
	select {
	case err := <-p.ready:
		if err != nil {
			<-p.exited
		}
		return err
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.end(syscall.SIGKILL))
	}
}

// end sends a signal and waits for the end. The children of a server that is killed are killed too:
// each of them may go on with what it does. It is stopped before, so that it has no more of them.
func (p *process) end(how syscall.Signal) error {
	var all []int
	if how == syscall.SIGKILL {
		_ = p.cmd.Process.Signal(syscall.SIGSTOP) // if it has ended, its children have
		all = children(p.cmd.Process.Pid)
	}
	err := p.cmd.Process.Signal(how)
	for _, pid := range all {
		_ = syscall.Kill(pid, how) // it may have ended
	}
	<-p.exited
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Pause stops all processes of the server with SIGSTOP until Resume: it answers nothing meanwhile, as
// during a fail-over.
func (s *Server) Pause() error { return s.signal(syscall.SIGSTOP) }

// Resume has a paused server go on.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT) }

func (s *Server) signal(what syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return errors.New("postgrestest: the server does not run")
	}
	err := s.process.cmd.Process.Signal(what) // first: a server that is stopped has no more children
	for _, pid := range children(s.process.cmd.Process.Pid) {
		_ = syscall.Kill(pid, what) // it may have ended
	}
	return err
}
