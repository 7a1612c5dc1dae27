package nodetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// ErrEnded: the process has ended, so it answers no call.
var ErrEnded = errors.New("nodetest: the process has ended")

// Launcher starts a command and waits for it. A hosts.Host is one.
type Launcher interface {
	Start(cmd *exec.Cmd) error
	Wait() error
}

// direct starts a command as it is.
type direct struct{ cmd *exec.Cmd }

func (d *direct) Start(cmd *exec.Cmd) error {
	d.cmd = cmd
	return cmd.Start()
}

func (d *direct) Wait() error { return d.cmd.Wait() }

// Process is a process that runs a program. Its methods may be called concurrently.
type Process struct {
	cmd    *exec.Cmd
	on     Launcher
	stderr tail
	exited chan struct{} // closed when it has ended, and all its answers were read

	in      sync.Mutex // of requests
	closer  io.Closer
	request *json.Encoder

	mu    sync.Mutex
	last  uint64 // ID of the last call
	calls map[uint64]chan answer
}

// Start starts a process. It ends with the test. A test that fails shows the end of what the process
// wrote to its standard error.
func Start(t testing.TB, program string) *Process {
	t.Helper()
	p, err := StartOn(t, program, &direct{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// StartOn is Start with a launcher, and returns its error.
func StartOn(t testing.TB, program string, on Launcher) (*Process, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startIn(t, self, program, on)
}

// StartAs is Start for a program of another build of the test: binary is the file of that.
func StartAs(t testing.TB, binary, program string) *Process {
	t.Helper()
	p, err := startIn(t, binary, program, &direct{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// startIn starts a process that ends with the test.
func startIn(t testing.TB, binary, program string, on Launcher) (*Process, error) {
	t.Helper()
	p, err := start(binary, program, on)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		p.Kill()
		if text := p.stderr.String(); t.Failed() && text != "" {
			t.Logf("%s, process %d, wrote at last:\n%s", program, p.cmd.Process.Pid, text)
		}
	})
	return p, nil
}

func start(binary, program string, on Launcher) (*Process, error) {
	p := &Process{cmd: exec.Command(binary), on: on, exited: make(chan struct{}), calls: map[uint64]chan answer{}}
	p.cmd.Env = append(os.Environ(), variable+"="+program)
	p.cmd.Stderr = &p.stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.closer, p.request = in, json.NewEncoder(in)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := on.Start(p.cmd); err != nil {
		return nil, err
	}
	go p.read(out)
	return p, nil
}

// read takes answers until the process ends.
func (p *Process) read(out io.Reader) {
	defer close(p.exited)
	answers := json.NewDecoder(out)
	for {
		var a answer
		if err := answers.Decode(&a); err != nil {
			break // a kill may have cut the last one
		}
		p.mu.Lock()
		if c := p.calls[a.ID]; c != nil {
			c <- a // it has room for one
			delete(p.calls, a.ID)
		}
		p.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, out) // what is no answer must not hold it up
	_ = p.on.Wait()                 // the test kills it
}

// Setup begins the program with a value, and returns when it has begun.
func (p *Process) Setup(ctx context.Context, in any) error { return p.Call(ctx, setup, in, nil) }

// Call has the program answer a call. in goes there, and out is read from the answer; nil for
// neither. It fails with ErrEnded if the process ends before.
func (p *Process) Call(ctx context.Context, name string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	done := make(chan answer, 1)
	p.mu.Lock()
	p.last++
	id := p.last
	p.calls[id] = done
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.calls, id)
		p.mu.Unlock()
	}()
	p.in.Lock()
	err = p.request.Encode(request{ID: id, Name: name, In: body})
	p.in.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w: %w", name, ErrEnded, err)
	}
	select {
	case a := <-done:
		return a.read(name, out)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", name, ctx.Err())
	case <-p.exited:
	}
	select {
	case a := <-done: // its last one
		return a.read(name, out)
	default:
		return fmt.Errorf("%s: %w", name, ErrEnded)
	}
}

// read takes the answer of a call.
func (a answer) read(name string, out any) error {
	switch {
	case a.Error != "":
		return fmt.Errorf("%s: %s", name, a.Error)
	case out == nil:
		return nil
	}
	return json.Unmarshal(a.Out, out)
}

// Kill kills the process with SIGKILL, and returns when it is gone. It may be repeated.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
	_ = p.closer.Close()
}

// Pause stops the process with SIGSTOP, until Resume, and returns when it has stopped. It answers nothing
// meanwhile.
func (p *Process) Pause() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fmt.Errorf("pause: %w", err)
		case !status.Stopped():
			return fmt.Errorf("pause: %w", ErrEnded)
		default:
			return nil
		}
	}
}

// Resume has a paused process go on.
func (p *Process) Resume() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// tailBytes is how much of what a process writes is kept.
const tailBytes = 16 << 10

// tail is the end of what was written.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
