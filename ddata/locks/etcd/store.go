package etcd

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coterie-go/coterie/ddata/locks"
)

// Config says where in etcd a store is, and how long its leases last.
type Config struct {
	// Prefix is in front of the store's keys, without a slash at its end. Stores must not lie within
	// one another. Default: coterie.
	Prefix string
	// TTL is how long a lease outlives the last renewal, in whole seconds: 1 s or more. A server
	// raises what is below its own least TTL, which is 2 s with its default election timeout.
	// Default: 15 s.
	TTL time.Duration
	// Timeout bounds each call of the store and of its doors, besides the caller's context.
	// Default: 5 s.
	Timeout time.Duration
}

const (
	defaultPrefix  = "coterie"
	defaultTTL     = 15 * time.Second
	defaultTimeout = 5 * time.Second
	idMagic        = "coterie leases 1 "
	idBytes        = 16
)

// Store is a place of leases in etcd. Its methods may be called from any goroutine.
type Store struct {
	client  *clientv3.Client
	line    *line
	prefix  string // with a slash at its end
	ttl     time.Duration
	timeout time.Duration
	id      string
}

var _ locks.Store = (*Store)(nil)

// Open opens the store under a prefix, and makes it if the prefix is empty. It refuses an etcd that
// answers too slowly for Config.TTL. The client stays the caller's: it goes on until every door is
// closed, and the caller closes it after that.
func Open(ctx context.Context, client *clientv3.Client, cfg Config) (*Store, error) {
	if cfg.Prefix == "" {
		cfg.Prefix = defaultPrefix
	}
	if cfg.TTL == 0 {
		cfg.TTL = defaultTTL
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	s := &Store{client: client, prefix: cfg.Prefix + "/", ttl: cfg.TTL, timeout: cfg.Timeout}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if err := s.greet(ctx); isTLS(err) {
		return nil, s.explain(ctx, s.prefix, err)
	}
	var err error
	if s.id, err = s.identify(ctx); err != nil {
		return nil, s.why(ctx, err)
	}
	if err := s.measure(ctx); err != nil {
		return nil, err
	}
	s.line = newLine(client)
	return s, nil
}

// greet makes one call. The client's own calls try again until their time is over, and do not say why.
func (s *Store) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, min(greetLimit, s.timeout/2))
	defer cancel()
	_, err := pb.NewKVClient(s.client.ActiveConnection()).Range(ctx, &pb.RangeRequest{Key: []byte(s.prefix + "id")})
	return err
}

// greetLimit is how long that call may take. Only its error is wanted.
const greetLimit = time.Second

// why returns an error of a call, or why no connection can be made.
func (s *Store) why(ctx context.Context, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if cause := s.greet(context.WithoutCancel(ctx)); status.Code(cause) == codes.Unavailable {
		return s.explain(ctx, s.prefix, cause)
	}
	return err
}

// looks is how often Open measures a call before it refuses the server.
const looks = 5

// measure refuses servers whose calls take too long for renewals: one makes two calls.
func (s *Store) measure(ctx context.Context) error {
	limit := s.ttl / attempts
	quickest := time.Duration(math.MaxInt64)
	for range looks {
		sent := time.Now()
		if _, err := s.client.Get(ctx, s.prefix+"id"); err != nil {
			return s.explain(ctx, s.prefix, err)
		}
		if quickest = min(quickest, time.Since(sent)); 2*quickest <= limit {
			return nil
		}
	}
	ttl := (4 * attempts * quickest).Truncate(time.Second) + time.Second
	return &locks.Error{
		Kind: locks.ErrUnusable, Path: s.prefix,
		Detail: fmt.Sprintf("the quickest of %d calls took %v, and a renewal, which makes two, has %v, a quarter of "+
			"Config.TTL", looks, quickest, limit),
		Remedy: fmt.Sprintf("raise Config.TTL to %v, or see what makes etcd slow", ttl),
	}
}

func (c Config) check() error {
	switch {
	case strings.HasSuffix(c.Prefix, "/") || !utf8.ValidString(c.Prefix):
		return fmt.Errorf("etcd: Config.Prefix: %q: give UTF-8 without a slash at its end", c.Prefix)
	case c.TTL < time.Second || c.TTL%time.Second != 0:
		return fmt.Errorf("etcd: Config.TTL: %v: give whole seconds, 1 s or more", c.TTL)
	case c.Timeout < 0:
		return fmt.Errorf("etcd: Config.Timeout: %v is negative", c.Timeout)
	}
	return nil
}

// ID implements locks.Store: a random value that is kept in etcd.
func (s *Store) ID() string { return s.id }

// Lock implements locks.Store. It does not ask etcd.
func (s *Store) Lock(name, owner string) (locks.Lock, error) {
	if err := locks.CheckName(name); err != nil {
		return nil, err
	}
	return s.lease(name, owner), nil
}

// identify reads which store this is; an empty prefix becomes one. Of several processes that make
// it at once, the transaction lets one do so.
func (s *Store) identify(ctx context.Context) (string, error) {
	key := s.prefix + "id"
	for {
		got, err := s.client.Get(ctx, key)
		if err != nil {
			return "", s.explain(ctx, key, err)
		}
		if len(got.Kvs) > 0 {
			id, ok := strings.CutPrefix(string(got.Kvs[0].Value), idMagic)
			if !ok || len(id) != hex.EncodedLen(idBytes) {
				return "", foreign(key, "its value is none of ours")
			}
			return id, nil
		}
		other, err := s.client.Get(ctx, s.prefix, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
		if err != nil {
			return "", s.explain(ctx, s.prefix, err)
		}
		if len(other.Kvs) > 0 && string(other.Kvs[0].Key) != key {
			return "", foreign(s.prefix, fmt.Sprintf("it holds %s and no id", other.Kvs[0].Key))
		}
		_, err = s.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
			Then(clientv3.OpPut(key, idMagic+random())).Commit()
		if err != nil {
			return "", s.explain(ctx, key, err)
		}
	}
}

// random returns a random value as text.
func random() string {
	b := make([]byte, idBytes)
	rand.Read(b)
	return hex.EncodeToString(b)
}
