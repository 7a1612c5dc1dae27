package local

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/coterie-go/coterie/ddata"
)

// limit bounds a program that ends by itself, and the stop of a cluster.
const limit = time.Minute

// Run starts a cluster of n nodes, has start make something of each, and use of all that. Then it stops
// the nodes that use has left.
func Run[T any](n int, c ddata.Config, start func(*ddata.Node) (T, error),
	use func(ctx context.Context, nodes []*ddata.Node, each []T) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return with(ctx, n, c, start, use)
}

// Service starts a cluster of three nodes, and serves what start makes of each, as Serve does, until ctx
// is over.
func Service(ctx context.Context, out io.Writer, first int, c ddata.Config,
	start func(*ddata.Node) (http.Handler, error)) error {
	return with(ctx, 3, c, start, func(ctx context.Context, _ []*ddata.Node, handlers []http.Handler) error {
		return Serve(ctx, out, first, handlers...)
	})
}

func with[T any](ctx context.Context, n int, c ddata.Config, start func(*ddata.Node) (T, error),
	use func(context.Context, []*ddata.Node, []T) error) (err error) {
	nodes, err := Start(ctx, n, c)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		err = errors.Join(err, Stop(ctx, nodes))
	}()
	each := make([]T, n)
	for i, node := range nodes {
		if each[i], err = start(node); err != nil {
			return err
		}
	}
	return use(ctx, nodes, each)
}
