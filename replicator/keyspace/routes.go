package keyspace

// Routes says in which space each key lives. It never changes, and any number of goroutines may
// use it: a view that makes more keys durable brings another one.
type Routes struct{ durable Patterns }

// NewRoutes makes routes by which the keys that any of the patterns names are durable.
func NewRoutes(lists ...[]string) *Routes {
	return &Routes{durable: NewPatterns(lists...)}
}

// SpaceOf returns the space in which a key lives.
func (r *Routes) SpaceOf(key string) Space {
	if r.durable.Match(key) {
		return Durable
	}
	return Volatile
}
