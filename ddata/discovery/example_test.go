package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/coterie-go/coterie/ddata/discovery"
)

// A headless service of Kubernetes is ddata.Config.Discovery = discovery.DNS{Host:
// "shop.prod.svc.cluster.local.", Port: 7946}, or with its named port:
func ExampleDNS() {
	fmt.Println(discovery.DNS{Host: "shop.prod.svc.cluster.local.", Port: 7946})
	fmt.Println(discovery.DNS{Host: "shop.prod.svc.cluster.local.", Service: "coterie", Proto: "tcp"})
	// Output:
	// DNS A/AAAA shop.prod.svc.cluster.local., port 7946
	// DNS SRV _coterie._tcp.shop.prod.svc.cluster.local.
}

// Any source will do, such as the interface of a cloud; several are put together with Union.
func ExampleUnion() {
	cloud := discovery.Func(func(context.Context) ([]string, error) {
		return []string{"10.0.0.2:7946", "10.0.0.1:7946"}, nil
	})
	fmt.Println(discovery.Ask(context.Background(), discovery.Union{discovery.Static{"10.0.0.1:7946"}, cloud}).Addrs)
	// Output: [10.0.0.1:7946 10.0.0.2:7946]
}

// fixed is a Resolver of one's own.
type fixed struct{}

func (fixed) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}, nil
}

func (fixed) LookupSRV(context.Context, string, string, string) (string, []*net.SRV, error) {
	return "", nil, errors.New("there are no services here")
}

// A name can be resolved in another way than that of the system.
func ExampleResolver() {
	var source discovery.Source = discovery.DNS{Host: "shop.example", Port: 7946, Resolver: fixed{}}
	addrs, err := source.Discover(context.Background())
	fmt.Println(addrs, err)
	// Output: [10.0.0.1:7946 10.0.0.2:7946] <nil>
}
