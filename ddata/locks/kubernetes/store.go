package kubernetes

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/apiclient"
)

// Config says where in Kubernetes a store is, and how long its leases last.
type Config struct {
	// Namespace has the objects of the store. It must exist. Default: that of the pod in which the program
	// runs.
	Namespace string
	// Prefix begins the names of the objects: 1 to 40 lower-case letters, digits and dashes, with a letter or
	// a digit at both ends. Stores of one namespace have different ones. Default: coterie.
	Prefix string
	// TTL is how long a lease outlives the last renewal, in whole seconds: 1 s or more. Another owner waits
	// for as long before it takes the lease of a node that died. Nodes may differ. Default: 15 s.
	TTL time.Duration
	// Timeout bounds each call of the store and of its doors, besides the caller's context. Default: 5 s.
	Timeout time.Duration
}

const (
	defaultPrefix  = "coterie"
	defaultTTL     = 15 * time.Second
	defaultTimeout = 5 * time.Second
	prefixMax      = 40
)

// Store is a place of leases in Kubernetes. Its methods may be called from any goroutine.
type Store struct {
	client  *apiclient.Client
	leases  apiclient.Resource[coordinationv1.Lease, *coordinationv1.Lease]
	maps    apiclient.Resource[corev1.ConfigMap, *corev1.ConfigMap]
	prefix  string
	ttl     time.Duration
	timeout time.Duration
	id      string
	wall    func() time.Time // the time of day
}

var _ locks.Store = (*Store)(nil)

// Open opens the store of a namespace and a prefix, and makes it if there is none. The configuration of the
// client is copied: rest.InClusterConfig makes one in a pod. Its QPS and RateLimiter do not count, for a
// renewal that waits for its turn costs the lease. Open refuses an API server that answers too slowly for
// Config.TTL, or that takes an update with an old resourceVersion.
func Open(ctx context.Context, cluster *rest.Config, cfg Config) (*Store, error) {
	config.Default(&cfg.Prefix, defaultPrefix)
	config.Default(&cfg.TTL, defaultTTL)
	config.Default(&cfg.Timeout, defaultTimeout)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	client, err := apiclient.New(cluster, apiclient.Config{
		Namespace: cfg.Namespace, DeadAfter: cfg.TTL / attempts,
	})
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	s := &Store{
		client: client, leases: client.Leases(), maps: client.ConfigMaps(), prefix: cfg.Prefix, ttl: cfg.TTL,
		timeout: cfg.Timeout, wall: time.Now,
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if err := s.identify(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the connections of the store. Close every door before it, so the nodes that use the store.
func (s *Store) Close() { s.client.Close() }

func (c Config) check() error {
	var f config.Faults
	f.Add(!isLabel(c.Prefix) || len(c.Prefix) > prefixMax, "Prefix",
		"%q: give 1 to %d lower-case letters, digits and dashes, with a letter or a digit at both ends", c.Prefix,
		prefixMax)
	f.Add(c.TTL < time.Second || c.TTL%time.Second != 0 || c.TTL/time.Second > math.MaxInt32, "TTL",
		"%v: give whole seconds, 1 s or more", c.TTL)
	f.Add(c.Timeout < 0, "Timeout", "%v is negative", c.Timeout)
	return f.Err("kubernetes: Config")
}

// isLabel reports whether s is a label of a name in DNS.
func isLabel(s string) bool {
	if s == "" || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// ID implements locks.Store: the UID of an object that is made once.
func (s *Store) ID() string { return s.id }

// Lock implements locks.Store. It makes no call.
func (s *Store) Lock(name, owner string) (locks.Lock, error) {
	if err := locks.CheckName(name); err != nil {
		return nil, err
	}
	return s.lease(name, owner), nil
}

// identify reads which store this is, and makes it if there is none. Of several processes that make it at
// once, one does so.
func (s *Store) identify(ctx context.Context) error {
	name := s.prefix
	for {
		o, err := s.leases.Get(ctx, name)
		if apiclient.NotFound(err) {
			o, err = s.leases.Create(ctx, name, &coordinationv1.Lease{ObjectMeta: s.meta(name, storeName)})
			if apiclient.Conflict(err) {
				continue
			}
		}
		if err != nil {
			return s.explain(name, err)
		}
		if o.Annotations[nameAnnotation] != storeName {
			return foreign(s.path(name), "it has no annotation "+nameAnnotation+" with the value "+storeName)
		}
		s.id = string(o.UID)
		return s.try(ctx, o)
	}
}

// looks is how often Open writes before it refuses the server as too slow.
const looks = 5

// try finds whether the server refuses an update with an old resourceVersion, and whether its calls are quick
// enough for renewals, which make two in a part of the TTL. An update that meets that of another process shows
// the same.
func (s *Store) try(ctx context.Context, o *coordinationv1.Lease) error {
	quickest := time.Duration(math.MaxInt64)
	for range looks {
		next := o.DeepCopy()
		next.Annotations[triedAnnotation] = random()
		sent := time.Now()
		got, err := s.leases.Update(ctx, s.prefix, next)
		quickest = min(quickest, time.Since(sent))
		switch {
		case apiclient.Conflict(err):
			got, err = s.leases.Get(ctx, s.prefix)
		case err == nil && got.ResourceVersion == o.ResourceVersion:
			return s.lies("an update has left the resourceVersion as it was")
		case err == nil:
			next.Annotations[triedAnnotation] = random()
			if _, err = s.leases.Update(ctx, s.prefix, next); err == nil {
				return s.lies("it takes an update with an old resourceVersion")
			} else if apiclient.Conflict(err) {
				err = nil
			}
		}
		if err != nil {
			return s.explain(s.prefix, err)
		}
		if 2*quickest <= s.ttl/attempts {
			return nil
		}
		o = got
	}
	return s.tooSlow(quickest)
}

// meta is what an object of the store is called. name is that of the lease.
func (s *Store) meta(object, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: object, Annotations: map[string]string{nameAnnotation: name}}
}

// path names an object of the store in errors.
func (s *Store) path(object string) string { return s.leases.Namespace() + "/" + object }
