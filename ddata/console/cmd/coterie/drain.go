package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/console/client"
)

// drainEvery is the time between two looks at a drain.
const drainEvery = 500 * time.Millisecond

func drainCommand(flags *flag.FlagSet) task {
	wait := flags.Bool("wait", false, "wait until all shards have gone, as long as that takes")
	return actingWith(flags, drain, func(ctx context.Context, r *remote, words []string) error {
		if !*wait {
			return nil
		}
		w := &drainWait{node: words[0]}
		if len(words) > 1 {
			w.typ = words[1]
		}
		return w.await(ctx, r)
	})
}

func drain(w []string) (wish, error) {
	a := api.Action{Do: api.DoDrain, Node: w[0]}
	if len(w) > 1 {
		a.Type = w[1]
	}
	return wish{a, fmt.Sprintf("%s will host no shards until it is started again.", w[0])}, nil
}

// drainWait waits until a node has handed its shards over.
type drainWait struct {
	node, typ string // as the words of the command line name them; typ may be empty: all
	uid       string // of the node, as it was found first
	bar       *bar   // nil: no person sees it
	left      int    // shards, at the last look at which the node answered
	why       string // what they wait for
	trouble   string // why the last look showed nothing
}

func (w *drainWait) await(ctx context.Context, r *remote) error {
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	defer func() {
		if w.bar != nil {
			w.bar.end()
		}
	}()
	for {
		over, err := w.look(ctx, r)
		if over || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the drain goes on; %d shards are left: %s", w.left, dash(w.why))
		case <-tick.C:
		}
	}
}

// look reports whether the drain is over. What may be better at the next look is no error.
func (w *drainWait) look(ctx context.Context, r *remote) (over bool, err error) {
	ctx, cancel := r.within(ctx)
	defer cancel()
	x, err := r.Cluster(ctx)
	var answered *client.Error
	switch {
	case errors.As(err, &answered) && answered.Refused():
		return false, err
	case err != nil:
		w.complain(ctx, r, explained(r, err).Error())
		return false, nil
	}
	for _, n := range x.Nodes {
		if is(w.node, n.UID, n.Addr) {
			w.trouble = ""
			if w.uid == "" {
				w.uid = n.UID
			}
			return w.heard(r, n)
		}
	}
	for _, m := range x.View.Members {
		if is(w.node, m.UID, m.Addr) {
			w.complain(ctx, r, w.node+" gives no answer")
			return false, nil
		}
	}
	return false, fmt.Errorf("%s is no member any more", w.node)
}

// heard notes what the node says.
func (w *drainWait) heard(r *remote, n api.Node) (over bool, err error) {
	var whys, again []string
	found := false
	over, w.left = true, 0
	for _, t := range n.Types {
		switch {
		case t.Proxy || w.typ != "" && t.Name != w.typ:
			continue
		case t.Drain == nil:
			again = append(again, t.Name)
			continue
		}
		found, over, w.left = true, over && t.Drain.Done, w.left+t.Hosted
		if t.Drain.Why != "" {
			whys = append(whys, t.Name+": "+t.Drain.Why)
		}
	}
	w.why = strings.Join(whys, "; ")
	w.draw(r)
	switch {
	case n.UID != w.uid:
		return false, fmt.Errorf("%s was started again, and drains nothing", w.node)
	case len(again) > 0:
		return false, fmt.Errorf("%s does not drain %s: that was started again", w.node, strings.Join(again, " and "))
	case !found && w.typ != "":
		return false, fmt.Errorf("%s has not got %s any more: it was started again", w.node, w.typ)
	}
	return over, nil
}

// draw shows a person how far it is.
func (w *drainWait) draw(r *remote) {
	if !r.terminal {
		return
	}
	if w.bar == nil {
		w.bar = bars{out: r.errs}.bar("draining "+w.node, int64(w.left))
		w.bar.unit = "shards"
	}
	w.bar.total = max(w.bar.total, int64(w.left))
	w.bar.add(w.bar.total - int64(w.left) - w.bar.done)
}

// complain says once why a look has shown nothing.
func (w *drainWait) complain(ctx context.Context, r *remote, why string) {
	if ctx.Err() == nil && why != w.trouble {
		fmt.Fprintln(r.errs, "coterie:", plain(why))
	}
	w.trouble = why
}

// is reports whether a person may call a node by a name.
func is(name, uid, addr string) bool { return name == uid || name == api.Short(uid) || name == addr }
