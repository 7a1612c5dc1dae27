package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// However the demo is ended, its nodes end with it. Their standard error is the demo's, so the end
// of that is the end of them all.
func TestNodesEndWithTheDemo(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal func(pid int) error
		clean  bool // the demo removes its directories
	}{
		{"kill -9 of the demo", func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }, false},
		{"the terminal's Ctrl-C, which all get", func(pid int) error {
			return syscall.Kill(-pid, syscall.SIGINT)
		}, true},
		{"an end of the demo alone", func(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), envPlay+"=1", "TMPDIR="+dir)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			errs, errsEnd, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer errs.Close()
			cmd.Stderr = errsEnd
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // of a process that should have ended and did not
			_ = errsEnd.Close()
			lines := bufio.NewScanner(out)
			for lines.Scan() && !strings.Contains(lines.Text(), "all nodes increment") {
			}
			if err := c.signal(cmd.Process.Pid); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, out)
			if err := cmd.Wait(); err == nil {
				t.Error("the demo ended well")
			}
			if err := errs.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if said, err := io.ReadAll(errs); err != nil {
				t.Errorf("a node lives on: %v; they said %q", err, said)
			}
			if left, err := os.ReadDir(dir); c.clean && (err != nil || len(left) != 0) {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}
