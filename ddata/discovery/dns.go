package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/coterie-go/coterie/ddata/address"
	"github.com/coterie-go/coterie/ddata/config"
)

// Resolver is what DNS asks. *net.Resolver is one.
type Resolver interface {
	// LookupNetIP returns the addresses of a host; network "ip" is for both families.
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	// LookupSRV returns the records of _service._proto.name, or of name itself when service and
	// proto are empty.
	LookupSRV(ctx context.Context, service, proto, name string) (cname string, addrs []*net.SRV, err error)
}

var _ Resolver = (*net.Resolver)(nil)

// DNS names the addresses in the records of a name, as of a headless service of Kubernetes: with a
// Port those of the A and AAAA records, without one those that SRV records give, host and port.
//
// The service must name the pods that are not ready (publishNotReadyAddresses: true), for a pod is
// ready only when it is in the cluster. A name that ends in a dot is asked as it is, without the
// search list of the system.
type DNS struct {
	// Host is the name, such as shop.prod.svc.cluster.local. Required.
	Host string
	// Port is that of all nodes whose addresses the A and AAAA records of Host are. 0: ask for SRV
	// records, which have a port of their own.
	Port uint16
	// Service and Proto select the records _Service._Proto.Host, as of a named port of a headless
	// service. Both empty: those of Host itself. For SRV only.
	Service, Proto string
	// Resolver is asked. Default: net.DefaultResolver.
	Resolver Resolver
}

// Discover asks once. A name that does not exist, or has no such records, is an error that wraps
// ErrNoAddress.
func (d DNS) Discover(ctx context.Context) ([]string, error) {
	r := d.Resolver
	if r == nil {
		r = net.DefaultResolver
	}
	if d.Port != 0 {
		return d.hosts(ctx, r)
	}
	return d.services(ctx, r)
}

func (d DNS) hosts(ctx context.Context, r Resolver) ([]string, error) {
	ips, err := r.LookupNetIP(ctx, "ip", d.Host)
	if len(ips) == 0 {
		return nil, d.failed(err)
	}
	addrs := make([]string, len(ips))
	for i, ip := range ips {
		addrs[i] = net.JoinHostPort(ip.Unmap().String(), strconv.Itoa(int(d.Port)))
	}
	return addrs, d.partly(err)
}

// services names hosts rather than their addresses: a name is resolved when it is dialled, so that
// it may move.
func (d DNS) services(ctx context.Context, r Resolver) ([]string, error) {
	_, records, err := r.LookupSRV(ctx, d.Service, d.Proto, d.Host)
	if len(records) == 0 {
		return nil, d.failed(err)
	}
	addrs := make([]string, 0, len(records))
	for _, s := range records {
		if host := strings.TrimSuffix(s.Target, "."); host != "" { // a target of "." says: no such service
			addrs = append(addrs, net.JoinHostPort(host, strconv.Itoa(int(s.Port))))
		}
	}
	return addrs, d.partly(err)
}

// partly passes on that some of the answer was malformed or missing.
func (d DNS) partly(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("discovery: a part of %v: %w", d, err)
}

func (d DNS) failed(err error) error {
	var dns *net.DNSError
	if err == nil || errors.As(err, &dns) && dns.IsNotFound {
		return fmt.Errorf("%w: %v: the name has no such records; a headless service names pods that are not ready "+
			"only with publishNotReadyAddresses",
			ErrNoAddress, d)
	}
	return fmt.Errorf("discovery: %v: %w", d, err)
}

// Validate reports all faults of d together.
func (d DNS) Validate() error {
	var f config.Faults
	f.Add(d.Host == "" || strings.ContainsAny(d.Host, " /[]") || len(d.Host) > address.Max, "Host",
		"%q is not a name", d.Host)
	f.Add(d.Service != "" && d.Proto == "", "Proto", "is empty, and Service is %q: they go together", d.Service)
	f.Add(d.Service == "" && d.Proto != "", "Service", "is empty, and Proto is %q: they go together", d.Proto)
	f.Add(d.Port != 0 && d.Service != "", "Port", "is for A and AAAA records, and DNS.Service for SRV: give one")
	return f.Err("discovery: DNS")
}

// String prints what is asked.
func (d DNS) String() string {
	switch {
	case d.Port != 0:
		return fmt.Sprintf("DNS A/AAAA %s, port %d", d.Host, d.Port)
	case d.Service != "":
		return fmt.Sprintf("DNS SRV _%s._%s.%s", d.Service, d.Proto, d.Host)
	}
	return "DNS SRV " + d.Host
}
