package localtest

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// URLs runs the program of an example that serves, at free ports, until the test is over, and must
// leave nothing running. It returns the n addresses that the program prints.
func URLs(t *testing.T, n int, run func(ctx context.Context, out io.Writer, first int) error) (urls []string) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	ctx, stop := context.WithCancel(context.Background())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, write, 0)
		write.CloseWithError(io.EOF)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
		goleak.VerifyNone(t, before)
	})
	lines := bufio.NewScanner(read)
	for len(urls) < n && lines.Scan() {
		if _, url, found := strings.Cut(lines.Text(), ": "); found {
			urls = append(urls, url)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, read) }() // what it prints later holds nothing up
	if len(urls) < n {
		t.Fatalf("it printed %q and ended", urls)
	}
	return urls
}
