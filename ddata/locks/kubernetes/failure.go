package kubernetes

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/apiclient"
)

// explain makes an error of a call one of the port, which says what to do. Errors of the port stay as they are.
func (s *Store) explain(object string, err error) error {
	var known *locks.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &locks.Error{Kind: locks.ErrUnusable, Path: s.path(object), Cause: err}
	e.Detail, e.Remedy = apiclient.Explain(err)
	if apiclient.Status(err) == http.StatusRequestEntityTooLarge {
		e.Kind = locks.ErrTooLarge
		e.Remedy = "have the API server, and what stands before it, take requests of 1.5 MiB: a record may have 1 MiB"
	}
	return e
}

// lies refuses a server that does not keep the rules which leases stand on.
func (s *Store) lies(what string) error {
	return &locks.Error{
		Kind: locks.ErrUnusable, Path: s.path(s.prefix), Detail: what,
		Remedy: "give a client's configuration that leads to a real API server: leases on this one would have " +
			"two holders",
	}
}

func (s *Store) tooSlow(quickest time.Duration) error {
	const reserve = 4 // twice what is needed
	ttl := (reserve * attempts * quickest).Truncate(time.Second) + time.Second
	return &locks.Error{
		Kind: locks.ErrUnusable, Path: s.path(s.prefix),
		Detail: fmt.Sprintf("the quickest of %d updates took %v, and a renewal, which may take two calls, has %v, a "+
			"quarter of Config.TTL", looks, quickest, s.ttl/attempts),
		Remedy: fmt.Sprintf("raise Config.TTL to %v, or see what makes the API server slow", ttl),
	}
}

func foreign(path, detail string) error {
	return &locks.Error{
		Kind: locks.ErrForeign, Path: path, Detail: detail,
		Remedy: "give a Config.Prefix that nothing else in the namespace uses, or remove the object that something " +
			"else has made",
	}
}

// expired tells of a hold that no renewal has prolonged in time.
func (l *lease) expired(cause error) error {
	_, remedy := apiclient.Explain(cause)
	if remedy == "" {
		remedy = "see that this process has a processor, and the API server answers"
	}
	return &locks.Error{
		Kind: locks.ErrNotHeld, Path: l.s.path(l.object), Detail: "no renewal has succeeded in time", Cause: cause,
		Remedy: remedy + "; or raise Config.TTL",
	}
}

// replaced tells of a hold whose object is not any more as the holder has written it.
func (l *lease) replaced(what string) error {
	return errors.Join(locks.ErrNotHeld, &locks.Error{
		Kind: locks.ErrReplaced, Path: l.s.path(l.object), Detail: what,
		Remedy: "leave the objects of the store alone while nodes run; a process that stands still for the TTL loses " +
			"its leases",
	})
}
