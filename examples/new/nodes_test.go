package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/proptest/ports"
)

// play starts the program of a service with the settings that its README has for three nodes, sends the
// requests of the README, and ends the nodes as Ctrl-C does. It returns the answers.
func play(t *testing.T, dir, program, prefix string) (answers []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	free, err := ports.Free(6)
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("127.0.0.1:7946", free[0], "127.0.0.1:7947", free[1], "127.0.0.1:7948", free[2],
		"127.0.0.1:8080", free[3], "127.0.0.1:8082", free[5], ":8080", free[3], ":8081", free[4], ":8082", free[5])
	standard := []string{prefix + "_BIND=" + free[0], prefix + "_HTTP=" + free[3]}
	var nodes []*node
	var requests [][]string
	var seeds string
	for line := range strings.Lines(here.Replace(string(text))) {
		if settings, is := strings.CutSuffix(line, " go run .\n"); is {
			settings = strings.ReplaceAll(settings, "$SEEDS", seeds)
			nodes = append(nodes, start(t, dir, program, append(standard, strings.Fields(settings)...)))
		}
		if list, is := strings.CutPrefix(line, "SEEDS="); is {
			seeds = strings.TrimSpace(list)
		}
		if request, is := strings.CutPrefix(line, "curl "); is {
			requests = append(requests, strings.Fields(strings.ReplaceAll(request, "'", "")))
		}
	}
	if len(nodes) != 3 {
		t.Fatalf("the README starts %d nodes, want 3", len(nodes))
	}
	for _, n := range nodes {
		n.takesRequests(t)
	}
	for _, r := range requests {
		answers = append(answers, send(t, r))
	}
	for _, n := range nodes {
		if err := n.process.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
	}
	for _, n := range nodes {
		n.ends(t)
	}
	return answers
}

// send sends the request of a command of curl, and returns what is answered.
func send(t *testing.T, request []string) string {
	t.Helper()
	method, url := http.MethodGet, request[len(request)-1]
	if request[0] == "-X" {
		method = request[1]
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(body))
}

// node is a process of the service.
type node struct {
	process *exec.Cmd
	log     *bufio.Scanner
	said    []string
}

// start starts a process, which is killed with the test.
func start(t *testing.T, dir, program string, settings []string) *node {
	t.Helper()
	n := &node{process: exec.CommandContext(t.Context(), program)}
	n.process.Dir, n.process.Env = dir, append(os.Environ(), settings...)
	log, err := n.process.StderrPipe()
	if err == nil {
		err = n.process.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	n.log = bufio.NewScanner(log)
	return n
}

// takesRequests waits until the process says that it takes requests.
func (n *node) takesRequests(t *testing.T) {
	t.Helper()
	for n.log.Scan() {
		n.said = append(n.said, n.log.Text())
		if strings.Contains(n.log.Text(), "the service takes requests") {
			return
		}
	}
	t.Fatalf("a node has ended: %v\n%s", n.process.Wait(), strings.Join(n.said, "\n"))
}

// ends waits until the process has ended, in order.
func (n *node) ends(t *testing.T) {
	t.Helper()
	for n.log.Scan() {
		n.said = append(n.said, n.log.Text())
	}
	if err := n.process.Wait(); err != nil {
		t.Errorf("a node has ended: %v\n%s", err, strings.Join(n.said, "\n"))
	}
}
