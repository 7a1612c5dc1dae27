module github.com/coterie-go/coterie/bench/benchstat

go 1.26.0

replace github.com/coterie-go/coterie => ../..

require github.com/coterie-go/coterie v0.0.0-00010101000000-000000000000

require (
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da // indirect
)

tool golang.org/x/perf/cmd/benchstat
