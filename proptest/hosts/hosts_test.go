//go:build linux

package hosts_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/proptest/hosts"
)

// The test binary is the program of the hosts too: it answers what it is told on its standard
// input.
const envProgram = "HOSTS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(envProgram) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if entered, err := hosts.Enter(); err != nil || !entered {
		fmt.Fprintln(os.Stderr, "enter:", entered, err)
		os.Exit(1)
	}
	program()
}

const port = "7000"

// program echoes what comes on its port, and for each line of standard input, which is an address,
// says what came back from there.
func program() {
	l, err := net.Listen("tcp", ":"+port)
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }()
		}
	}()
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		addr, limit, _ := strings.Cut(in.Text(), " ")
		fmt.Println(call(addr, limit))
	}
}

func call(addr, limit string) string {
	within, err := time.ParseDuration(limit)
	if err != nil {
		return err.Error()
	}
	c, err := net.DialTimeout("tcp", net.JoinHostPort(addr, port), within)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(within))
	if _, err := io.WriteString(c, "hello"); err != nil {
		return err.Error()
	}
	b := make([]byte, 5)
	if _, err := io.ReadFull(c, b); err != nil {
		return err.Error()
	}
	return string(b)
}

// process is the program on a host.
type process struct {
	t    *testing.T
	host *hosts.Host
	in   io.Writer
	out  *bufio.Scanner
}

func start(t *testing.T, h *hosts.Host) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envProgram+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(cmd); errors.Is(err, hosts.ErrUnavailable) {
		t.Skip(err) // skip: not every machine lets us make namespaces and TUN devices
	} else if err != nil {
		t.Fatal(err)
	}
	p := &process{t, h, in, bufio.NewScanner(out)}
	if got := p.line(); got != "ready" {
		t.Fatal(got)
	}
	return p
}

func (p *process) line() string {
	p.t.Helper()
	if !p.out.Scan() {
		p.t.Fatal("the process ended")
	}
	return p.out.Text()
}

func (p *process) call(to *hosts.Host, within time.Duration) string {
	p.t.Helper()
	fmt.Fprintln(p.in, to.Addr(), within)
	return p.line()
}

const short, long = 300 * time.Millisecond, 30 * time.Second

func TestHostsReachEachOther(t *testing.T) {
	n := hosts.New(1)
	defer n.Close()
	a, b, empty := n.Host(), n.Host(), n.Host()
	pa, pb := start(t, a), start(t, b)
	for _, got := range []string{pa.call(b, long), pb.call(a, long), pa.call(a, long)} {
		if got != "hello" {
			t.Error(got)
		}
	}
	if got := pa.call(empty, short); got == "hello" {
		t.Error("an empty host answered")
	}
	if s := n.Stats(); s.Carried == 0 || s.Stray == 0 || s.Cut != 0 || s.Lost != 0 {
		t.Error(s)
	}
}

func TestCut(t *testing.T) {
	n := hosts.New(1)
	defer n.Close()
	a, b, c := n.Host(), n.Host(), n.Host()
	pa, pb := start(t, a), start(t, b)
	start(t, c)
	n.Cut(a, b)
	if got := pa.call(b, short); got == "hello" {
		t.Error("a reached b")
	}
	if got := pb.call(a, short); got == "hello" { // b's packets arrive, the answers do not
		t.Error("a answered b")
	}
	if got := pa.call(c, long); got != "hello" {
		t.Error(got)
	}
	n.Isolate(a)
	if got := pa.call(c, short); got == "hello" {
		t.Error("a reached c")
	}
	if n.Stats().Cut == 0 {
		t.Error(n.Stats())
	}
	n.Heal()
	if got := pa.call(b, long); got != "hello" {
		t.Error(got)
	}
}

func TestLoss(t *testing.T) {
	n := hosts.New(1)
	defer n.Close()
	a, b := n.Host(), n.Host()
	pa := start(t, a)
	start(t, b)
	n.Lose(1)
	if got := pa.call(b, short); got == "hello" {
		t.Error("a reached b")
	}
	n.Lose(0.1)
	for range 5 {
		if got := pa.call(b, long); got != "hello" { // TCP sends again
			t.Error(got)
		}
	}
	if s := n.Stats(); s.Lost == 0 || s.Carried == 0 || s.Cut != 0 {
		t.Error(s)
	}
}

func TestHostIsUsedAgain(t *testing.T) {
	n := hosts.New(1)
	defer n.Close()
	a, b := n.Host(), n.Host()
	pa := start(t, a)
	for range 3 {
		start(t, b)
		if got := pa.call(b, long); got != "hello" {
			t.Error(got)
		}
		b.Kill()
	}
	if err := a.Start(exec.Command(os.Args[0])); err == nil {
		t.Error("two processes on one host")
	}
}

// A program that does not call Enter, and one that is not there, are mistakes, and not a machine
// that does not allow it.
func TestProgramsThatDoNotEnter(t *testing.T) {
	n := hosts.New(1)
	defer n.Close()
	start(t, n.Host()) // or skip
	if err := n.Host().Start(exec.Command("/bin/true")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if err := n.Host().Start(exec.Command("/nowhere/program")); !errors.Is(err, syscall.ENOENT) ||
		errors.Is(err, hosts.ErrUnavailable) {
		t.Error(err)
	}
	if entered, err := hosts.Enter(); entered || err != nil {
		t.Error(entered, err)
	}
}
