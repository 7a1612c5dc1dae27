package pods

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/discovery"
	"github.com/coterie-go/coterie/ddata/locks/kubernetes/apiclient"
)

// Config says which pods the nodes of a cluster run in.
type Config struct {
	// Namespace has the pods. Default: that of the pod in which the program runs.
	Namespace string
	// Labels are those of the pods, all of them. Pods of other services must not have them. Required.
	Labels map[string]string
	// Port is the name of the port on which nodes listen, in the list of a container's ports, or its number.
	// Required.
	Port string
}

// Source names the addresses of pods. Its methods may be called from any goroutine.
type Source struct {
	client *apiclient.Client
	cfg    Config
}

var _ discovery.Source = (*Source)(nil)

// deadAfter is less than discovery.Loop waits for an answer.
const deadAfter = 4 * time.Second

// New makes a source. It makes no call. The configuration of the client is copied.
func New(cluster *rest.Config, cfg Config) (*Source, error) {
	s := &Source{cfg: cfg}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	var err error
	s.client, err = apiclient.New(cluster, apiclient.Config{Namespace: cfg.Namespace, DeadAfter: deadAfter})
	if err != nil {
		return nil, fmt.Errorf("pods: %w", err)
	}
	return s, nil
}

// Close ends the connections of the source. Close the node before it.
func (s *Source) Close() { s.client.Close() }

// Validate reports what is wrong with the configuration.
func (s *Source) Validate() error {
	var f config.Faults
	_, err := labels.ValidatedSelectorFromSet(s.cfg.Labels)
	f.Of("Labels", err)
	f.Add(len(s.cfg.Labels) == 0, "Labels", "is empty: give labels that only the pods of the cluster have")
	f.Add(s.cfg.Port == "" || s.cfg.Port == "0", "Port", "is %q: give the name or the number of the nodes' port",
		s.cfg.Port)
	return f.Err("pods: Config")
}

// String prints what is asked.
func (s *Source) String() string {
	return fmt.Sprintf("pods with %s, port %s", labels.Set(s.cfg.Labels), s.cfg.Port)
}

// pageMax bounds the pods of one answer of the API.
const pageMax = 250

// Discover asks once, by as many calls as there are pages.
func (s *Source) Discover(ctx context.Context) ([]string, error) {
	var addrs []string
	var errs []error
	page := ""
	for {
		list, err := s.client.Pods(ctx, labels.Set(s.cfg.Labels).String(), pageMax, page)
		if err != nil {
			detail, remedy := apiclient.Explain(err)
			return addrs, errors.Join(append(errs, fmt.Errorf("pods: %s: %w; %s", detail, err, remedy))...)
		}
		for _, p := range list.Items {
			addr, err := s.addr(&p)
			if err != nil {
				errs = append(errs, err)
			} else if addr != "" {
				addrs = append(addrs, addr)
			}
		}
		if page = list.Continue; page == "" {
			break
		}
	}
	if len(addrs) == 0 && len(errs) == 0 {
		return nil, fmt.Errorf("%w: %v: no pod of the namespace has an address and these labels",
			discovery.ErrNoAddress, s)
	}
	return addrs, errors.Join(errs...)
}

// addr returns the address of the node in a pod: "" if none runs there.
func (s *Source) addr(p *corev1.Pod) (string, error) {
	if p.Status.PodIP == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return "", nil
	}
	if _, err := strconv.ParseUint(s.cfg.Port, 10, 16); err == nil {
		return net.JoinHostPort(p.Status.PodIP, s.cfg.Port), nil
	}
	for _, c := range p.Spec.Containers {
		for _, port := range c.Ports {
			if port.Name == s.cfg.Port {
				return net.JoinHostPort(p.Status.PodIP, strconv.Itoa(int(port.ContainerPort))), nil
			}
		}
	}
	return "", fmt.Errorf("pods: pod %s has no port with the name %s: name it in the ports of its container", p.Name,
		s.cfg.Port)
}
