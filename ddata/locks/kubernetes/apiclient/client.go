package apiclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
)

// Config says how calls are made.
type Config struct {
	// Namespace has the objects. Default: that of the pod in which the program runs.
	Namespace string
	// DeadAfter is how long a call may be without an answer before all connections are given up.
	// Required.
	DeadAfter time.Duration
}

// Client calls an API server. Its methods may be called from any goroutine.
type Client struct {
	namespace string
	deadAfter time.Duration
	conns     *connrotation.Dialer
	leases    rest.Interface // of the group coordination.k8s.io
	core      rest.Interface // of the core group
}

// namespaceFile has the namespace of the pod in which the program runs.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// dialTimeout bounds the time to connect.
const dialTimeout = 5 * time.Second

// New makes a client. It makes no call.
func New(cluster *rest.Config, cfg Config) (*Client, error) {
	if cluster == nil {
		return nil, errors.New("the configuration of the client is nil: rest.InClusterConfig makes one in a pod")
	}
	namespace, err := namespaceOr(cfg.Namespace)
	if err != nil {
		return nil, err
	}
	c := rest.CopyConfig(cluster)
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	client := &Client{
		namespace: namespace, deadAfter: cfg.DeadAfter,
		conns: connrotation.NewDialer(connrotation.DialFunc(dial)),
	}
	c.Dial = client.conns.DialContext
	c.QPS, c.RateLimiter = -1, nil
	c.UserAgent = cmp.Or(c.UserAgent, "coterie")
	wires, err := rest.HTTPClientFor(c)
	if err != nil {
		return nil, err
	}
	if client.leases, err = restClient(c, wires, "/apis", coordinationv1.SchemeGroupVersion); err != nil {
		return nil, err
	}
	client.core, err = restClient(c, wires, "/api", corev1.SchemeGroupVersion)
	return client, err
}

// Close ends the connections.
func (c *Client) Close() { c.conns.CloseAll() }

func namespaceOr(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	b, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "", fmt.Errorf("Config.Namespace is empty, and this is no pod: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// restClient makes a client of one group.
func restClient(cluster *rest.Config, wires *http.Client, path string, group schema.GroupVersion,
) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(coordinationv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c := rest.CopyConfig(cluster)
	c.APIPath, c.GroupVersion = path, &group
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	return rest.RESTClientForConfigAndClient(c, wires)
}

// Leases returns the leases of the namespace.
func (c *Client) Leases() Resource[coordinationv1.Lease, *coordinationv1.Lease] {
	return Resource[coordinationv1.Lease, *coordinationv1.Lease]{
		client: c, group: c.leases, name: "leases", groupName: coordinationv1.GroupName,
	}
}

// ConfigMaps returns the config maps of the namespace.
func (c *Client) ConfigMaps() Resource[corev1.ConfigMap, *corev1.ConfigMap] {
	return Resource[corev1.ConfigMap, *corev1.ConfigMap]{client: c, group: c.core, name: "configmaps"}
}

// Pods returns one page of the pods of the namespace that have some labels. The list names the next page.
func (c *Client) Pods(ctx context.Context, selector string, limit int64, next string) (*corev1.PodList, error) {
	call := Call{Verb: "list", Resource: "pods", Namespace: c.namespace}
	list := &corev1.PodList{}
	err := c.make(ctx, call, func(ctx context.Context) error {
		r := c.core.Get().Namespace(c.namespace).Resource("pods").MaxRetries(0).
			Param("labelSelector", selector).Param("limit", fmt.Sprint(limit))
		if next != "" {
			r = r.Param("continue", next)
		}
		return r.Do(ctx).Into(list)
	})
	return list, err
}

// object is a pointer to an object of the API.
type object[T any] interface {
	*T
	runtime.Object
}

// Resource is one kind of object in the namespace of a client.
type Resource[T any, P object[T]] struct {
	client    *Client
	group     rest.Interface
	name      string // of the resource
	groupName string // "" is the core group
}

// Namespace returns where the objects are.
func (r Resource[T, P]) Namespace() string { return r.client.namespace }

// Get returns an object as it is now.
func (r Resource[T, P]) Get(ctx context.Context, name string) (P, error) {
	return r.make(ctx, "get", name, r.group.Get().Name(name))
}

// Create makes an object and returns it as the server has it.
func (r Resource[T, P]) Create(ctx context.Context, name string, o P) (P, error) {
	return r.make(ctx, "create", name, r.group.Post().Body(runtime.Object(o)))
}

// Update replaces an object that has a resourceVersion and a UID, if both are still those of the server.
func (r Resource[T, P]) Update(ctx context.Context, name string, o P) (P, error) {
	return r.make(ctx, "update", name, r.group.Put().Name(name).Body(runtime.Object(o)))
}

func (r Resource[T, P]) make(ctx context.Context, verb, name string, request *rest.Request) (P, error) {
	call := Call{Verb: verb, Resource: r.name, Group: r.groupName, Namespace: r.client.namespace, Name: name}
	into := P(new(T))
	err := r.client.make(ctx, call, func(ctx context.Context) error {
		return request.Namespace(r.client.namespace).Resource(r.name).MaxRetries(0).Do(ctx).Into(into)
	})
	return into, err
}

// make makes a call.
func (c *Client) make(ctx context.Context, call Call, do func(context.Context) error) error {
	sent := time.Now()
	err := do(ctx)
	if err == nil {
		return nil
	}
	if time.Since(sent) >= c.deadAfter && ctx.Err() != nil {
		c.conns.CloseAll()
	}
	if end := ctx.Err(); end != nil && !errors.Is(err, end) {
		err = fmt.Errorf("%w: %w", end, err)
	}
	return &Error{Call: call, Err: err}
}
