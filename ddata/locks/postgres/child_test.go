package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/postgres"
)

// childEnv makes this test binary a process that contends for a lease: lines with the connection
// string, the schema, a file that the holder locks, and how often to hold the lease.
const childEnv = "COTERIE_LEASE_TEST_CHILD"

// contend prints a line for each time of holding the lease. If that is a negative number of times,
// it prints "stays" after so many, and keeps the lease.
func contend(words []string) {
	err := func() error {
		pool, err := pgxpool.ParseConfig(words[0])
		if err != nil {
			return err
		}
		s, err := postgres.Open(context.Background(), postgres.Config{
			Pool: pool, Schema: words[1], TTL: 2 * ttl, Timeout: ttl,
		})
		if err != nil {
			return err
		}
		l, err := s.Lock("x", fmt.Sprint(os.Getpid()))
		if err != nil {
			return err
		}
		turns, err := strconv.Atoi(words[3])
		if err != nil {
			return err
		}
		for turn := range max(turns, 1-turns) {
			if err := acquire(l); err != nil {
				return err
			}
			if turn == -turns {
				return stay(l, words[2])
			}
			if err := hold(l, words[2]); err != nil {
				return err
			}
		}
		return s.Close()
	}()
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// acquire tries until it holds the lease.
func acquire(l locks.Lock) error {
	for {
		if ok, err := l.Acquire(context.Background(), nil); ok || err != nil {
			return err
		}
	}
}

// locked does something while the file is locked. Another holder would have it.
func locked(path string, do func() error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("two owners hold the lease: %w", err)
	}
	return do()
}

// hold counts the record up and releases the lease.
func hold(l locks.Lock, path string) error {
	ctx := context.Background()
	err := locked(path, func() error {
		b, err := l.Load(ctx)
		if err != nil {
			return err
		}
		n, _ := strconv.Atoi(string(b)) // 0 for none
		if err := l.Save(ctx, []byte(strconv.Itoa(n+1))); err != nil {
			return err
		}
		fmt.Println("turn", n+1)
		return nil
	})
	return errors.Join(err, l.Release(ctx))
}

// stay keeps the lease until the process is killed.
func stay(l locks.Lock, path string) error {
	return locked(path, func() error {
		fmt.Println("stays")
		for tick := time.NewTicker(ttl / 10); !l.Until().IsZero(); {
			<-tick.C
		}
		return errors.New("the lease is lost")
	})
}

// Processes contend. Each gets the lease, no two at one time, and each finds what the one before
// has saved. A holder that is killed keeps the others out for the rest of its time only.
func TestProcesses(t *testing.T) {
	children := []int{-10, 20, 20} // how often each holds the lease
	dsn, schema := suite.Server(t).DSN(), newSchema()
	open(t, dsn, schema)
	file, said := filepath.Join(t.TempDir(), "file"), make(chan string)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	kill := map[string]func(){}
	for i, holds := range children {
		name := fmt.Sprint(i)
		cmd := exec.CommandContext(ctx, os.Args[0])
		words := strings.Join([]string{dsn, schema, file, strconv.Itoa(holds)}, "\n")
		cmd.Env = append(os.Environ(), childEnv+"="+words)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		kill[name] = func() { _ = cmd.Process.Kill() }
		go func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				said <- name + " " + lines.Text()
			}
			_ = cmd.Wait()
			said <- name + " ended"
		}()
	}
	turns, stayed, failed := map[string]bool{}, 0, false
	for ended := 0; ended < len(children); {
		name, what, _ := strings.Cut(<-said, " ")
		switch {
		case what == "ended":
			ended++
		case what == "stays":
			stayed++
			kill[name]()
		case turns[what] || !strings.HasPrefix(what, "turn "):
			failed = true
			t.Errorf("process %s: %s", name, what)
			cancel()
		default:
			turns[what] = true
		}
	}
	if !failed && (len(turns) != 50 || stayed != 1) {
		t.Errorf("%d turns, %d holders were killed, want 50 and 1", len(turns), stayed)
	}
}
