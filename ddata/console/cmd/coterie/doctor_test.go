package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/transport/pki/pkitest"
)

func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	f := pkitest.NewAuthority(t).Issue(dir, pkitest.Node{Names: []string{"shop-nodes"}})
	for from, to := range map[string]string{f.Cert: "tls.crt", f.Key: "tls.key",
		f.CA: "ca.crt"} { // order: each by itself
		if err := os.Rename(from, filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	kit := filepath.Join("..", "..", "..", "..", "examples", "kubernetes", "manifests")
	shop, set := filepath.Join(kit, "shop.yaml"), filepath.Join(kit, "statefulset.yaml")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-leave", "25s", "-drain", "5s", "-founders", "3", shop, set}, exitOK, ""},
		{[]string{"-leave", "50s", shop, set}, exitFailed, "it is killed while it hands over"},
		{[]string{"-dir", dir}, exitOK, ""},
		{[]string{"-tls", dir, "-tls-name", "shop-nodes"}, exitOK, ""},
		{[]string{"-tls", dir, "-tls-name", "other"}, exitFailed, "the other nodes would refuse"},
		{[]string{"-tls", t.TempDir()}, exitFailed, "error    TLS: pki: Files.Cert"},
		{[]string{"-bind", "192.0.2.1:1"}, exitFailed, "nothing can listen there"},
		{[]string{"-dns", "name.invalid.", "-port", "7946"}, exitFailed, "Config.Discovery"},
		{[]string{"-dns", "name.invalid.", "-port", "70000"}, exitUsage, "-port 70000"},
		{[]string{"-dns", "a b", "-port", "1"}, exitUsage, "is not a name"},
		{[]string{"-json", "-leave", "50s", shop, set}, exitFailed,
			`"severity":"error","setting":"StatefulSet shop: `},
		{[]string{"missing.yaml"}, exitUsage, "missing.yaml"},
		{[]string{"-unknown"}, exitUsage, "-unknown"},
		{[]string{"-help"}, exitOK, "coterie doctor"},
		{nil, exitUsage, "name manifests, or what to look at"},
	} {
		var said bytes.Buffer
		code := run(t.Context(), append([]string{"doctor"}, c.args...), stdio{out: &said, errs: &said})
		dns := len(c.args) > 0 && c.args[0] == "-dns" && c.code == exitFailed
		if dns && code == exitOK && strings.Contains(said.String(), "it names no node") {
			continue // a machine with a name server says that there is no such name
		}
		if code != c.code || !strings.Contains(said.String(), c.want) {
			t.Errorf("%q: %d %s; want %d %q", c.args, code, said.String(), c.code, c.want)
		}
	}
}
