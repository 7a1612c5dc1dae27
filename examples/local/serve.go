package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Serve serves each handler at a port of this machine, from first on (0: at free ports), prints the
// addresses, and returns when ctx is over.
func Serve(ctx context.Context, out io.Writer, first int, handlers ...http.Handler) (err error) {
	var servers []*http.Server
	for i, h := range handlers {
		port := 0
		if first > 0 {
			port = first + i
		}
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			return err
		}
		s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second,
			BaseContext: func(net.Listener) context.Context { return ctx }} // streams end with ctx
		servers = append(servers, s)
		go func() { _ = s.Serve(l) }()
		fmt.Fprintf(out, "node %d: http://%s\n", i+1, l.Addr())
	}
	<-ctx.Done()
	for _, s := range servers {
		err = errors.Join(err, s.Close())
	}
	return err
}
