package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/cluster/clusterproviders/automanaged"
	"github.com/asynkron/protoactor-go/cluster/identitylookup/disthash"
	"github.com/asynkron/protoactor-go/remote"
	"github.com/labstack/echo"
)

// noData is why protoactor-go has no rows of replicated data.
const noData = "it has no replicated data: members gossip values of their own, which no update waits for"

// protoPeer is protoactor-go.
var protoPeer = &peer{
	name: protoRole,
	command: func(ctx context.Context, words []string) *exec.Cmd {
		return selfAs(ctx, protoRole, words)
	},
	lacks: map[string]string{
		"ddata": noData, "sets": noData, "key-memory": noData,
		"remember": "it remembers no entities: one starts when it is asked",
	},
}

const (
	protoKind    = "Sink"
	protoCluster = "peers"
	// protoRefresh is the default of the provider: how often members ask each other for their health.
	protoRefresh = 2 * time.Second
	// healthPorts is how far below the port of a member that of its health is.
	healthPorts = 10_000
)

// protoNode is a member, or a client, of a cluster of protoactor-go.
type protoNode struct {
	*cluster.Cluster
	addr string
}

// startProto starts a member, or a client, and waits until it sees all hosts.
func startProto(ctx context.Context, host bool, addr string, seeds []string, props *actor.Props) (*protoNode, error) {
	name, port, err := hostPort(addr)
	if err != nil {
		return nil, err
	}
	var healths []string
	for _, s := range seeds {
		seed, port, err := hostPort(s)
		if err != nil {
			return nil, err
		}
		healths = append(healths, net.JoinHostPort(seed, strconv.Itoa(port-healthPorts)))
	}
	system := actor.NewActorSystemWithConfig(actor.Configure(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
			return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1}))
		})))
	server := echo.New()
	provider := automanaged.NewWithTesting(protoRefresh, port-healthPorts, server, healths...)
	c := cluster.New(system, cluster.Configure(protoCluster, provider, disthash.New(), remote.Configure(name, port),
		cluster.WithKinds(cluster.NewKind(protoKind, props))))
	n := &protoNode{c, addr}
	if !host {
		c.StartClient()
		return n, n.await(ctx, len(seeds))
	}
	// The provider would listen at all addresses of the machine.
	if server.Listener, err = net.Listen("tcp", net.JoinHostPort(name, strconv.Itoa(port-healthPorts))); err != nil {
		return nil, err
	}
	server.HideBanner, server.HidePort = true, true
	server.GET("/_health", func(c echo.Context) error {
		return c.JSON(http.StatusOK, automanaged.NewNode(protoCluster, system.ID, name, port, port-healthPorts,
			[]string{protoKind}))
	})
	c.StartMember()
	return n, n.await(ctx, len(seeds))
}

// await waits until the node sees so many members.
func (n *protoNode) await(ctx context.Context, members int) error {
	for pace := time.NewTicker(50 * time.Millisecond); n.MemberList.Length() < members; {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d members: %w", n.MemberList.Length(), members, ctx.Err())
		}
	}
	return nil
}

func hostPort(addr string) (string, int, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.Atoi(port)
	return host, n, err
}

// request asks an entity.
func (n *protoNode) request(id string, msg any, limit time.Duration) (any, error) {
	got, err := n.Request(id, protoKind, msg, cluster.WithTimeout(limit))
	if err == nil && got == nil {
		err = errors.New("no answer")
	}
	return got, err
}
