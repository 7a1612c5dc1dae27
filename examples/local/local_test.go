package local_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/examples/local"
	"github.com/coterie-go/coterie/proptest/ports"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A cluster that cannot start as a whole leaves no node behind.
func TestOneCannotStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := local.StartAt(t.Context(), append(free, taken.Addr().String()), ddata.Config{Name: "x"})
	if err == nil || !strings.Contains(err.Error(), "address in use") || nodes != nil {
		t.Errorf("it starts %v, %v", nodes, err)
	}
}

// What is served ends with the context, streams too.
func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- local.Serve(ctx, write, 0, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
	}()
	said := make([]byte, 100)
	n, err := read.Read(said)
	if err != nil {
		t.Fatal(err)
	}
	_, url, _ := strings.Cut(strings.TrimSpace(string(said[:n])), ": ")
	defer http.DefaultClient.CloseIdleConnections()
	stream, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	stop()
	if rest, _ := io.ReadAll(stream.Body); len(rest) > 0 {
		t.Errorf("it streams %q", rest)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A port that is taken is an error.
func TestServeAtATakenPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	if err := local.Serve(t.Context(), &bytes.Buffer{}, port, http.NotFoundHandler()); err == nil {
		t.Error("it serves")
	}
}
