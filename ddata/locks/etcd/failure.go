package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coterie-go/coterie/ddata/locks"
)

const (
	remedyQuorum = "start the members of the etcd cluster that are down: most of them must run and reach one another " +
		"(etcdctl endpoint status --cluster shows them)"
	remedyReach = "see that the endpoints and the TLS settings of the client are right (an etcd that wants " +
		"certificates of clients may end a connection without a word), and that most members of the etcd cluster run " +
		"(etcdctl endpoint status --cluster shows them)"
	remedyLogin = "give the client a name and a password that etcd knows (Username and Password of clientv3.Config)"
	remedyTLS   = "in TLS of clientv3.Config, see that RootCAs has the authority of the certificates of etcd, and " +
		"that Certificates has one that etcd trusts if it runs with --client-cert-auth; set TLS only if etcd uses it"
	remedySpace = "compact and defragment etcd, or raise --quota-backend-bytes; then etcdctl alarm disarm. Let etcd " +
		"compact by itself (--auto-compaction-retention): each save leaves the former record in its history"
)

// isTLS reports whether a connection has failed because of certificates, or because only the client
// uses TLS. The library of gRPC has the cause as text.
func isTLS(err error) bool {
	if status.Code(err) != codes.Unavailable {
		return false
	}
	for _, text := range []string{"tls: ", "x509: ", "handshake failed"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// explain makes an error of etcd one of the port, which says what to do.
func (s *Store) explain(ctx context.Context, key string, err error) error {
	e := &locks.Error{Kind: locks.ErrUnusable, Path: key, Cause: err, Remedy: remedyReach}
	is := func(all ...error) bool {
		for _, one := range all {
			if errors.Is(err, one) {
				return true
			}
		}
		return false
	}
	switch {
	case s.client.Ctx().Err() != nil:
		e.Detail, e.Remedy = "the client is closed", "close it after every door, so after the nodes that use the store"
	case is(rpctypes.ErrPermissionDenied):
		e.Detail = "the client's user may not read or write it"
		e.Remedy = fmt.Sprintf("grant a role of the user all of the prefix: etcdctl role grant-permission ROLE "+
			"--prefix=true readwrite %s", s.prefix)
	case is(rpctypes.ErrUserEmpty, rpctypes.ErrAuthFailed, rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthNotEnabled):
		e.Remedy = remedyLogin
	case is(rpctypes.ErrNoLeader, rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail,
		rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrLeaderChanged, rpctypes.ErrNotLeader):
		e.Detail, e.Remedy = "the members of etcd do not agree on a leader", remedyQuorum
	case isTLS(err):
		e.Detail, e.Remedy = "the client and etcd have not agreed on TLS", remedyTLS
	case is(rpctypes.ErrNoSpace):
		e.Remedy = remedySpace
	case is(rpctypes.ErrRequestTooLarge), status.Code(err) == codes.ResourceExhausted:
		e.Kind = locks.ErrTooLarge
		e.Remedy = "start etcd with --max-request-bytes of 1572864, its default, or more: a record may have 1 MiB"
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		e.Detail, e.Remedy = "the call was given up", ""
	case errors.Is(err, context.DeadlineExceeded):
		e.Detail = "there was no answer in time"
	}
	return e
}

func foreign(key, detail string) error {
	return &locks.Error{
		Kind: locks.ErrForeign, Path: key, Detail: detail,
		Remedy: "give a prefix that holds nothing, or one that was made for leases; remove what something else has " +
			"written",
	}
}

// expired tells of a hold that no renewal has prolonged in time.
func expired(key string, cause error) error {
	return &locks.Error{
		Kind: locks.ErrNotHeld, Path: key, Detail: "no renewal has succeeded in time", Cause: cause,
		Remedy: remedyReach + "; or raise Config.TTL",
	}
}

// replaced tells of a hold whose key is not the one that the holder has made.
func replaced(key string) error {
	return errors.Join(locks.ErrNotHeld, &locks.Error{
		Kind: locks.ErrReplaced, Path: key, Detail: "etcd has removed the key with its lease, or something else has",
		Remedy: "leave keys and leases of the store alone while nodes run; a process that stands still for the TTL " +
			"loses its leases",
	})
}
