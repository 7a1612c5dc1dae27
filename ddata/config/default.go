package config

import "reflect"

// Default sets a field that is zero to its default.
func Default[T comparable](field *T, def T) {
	var zero T
	if *field == zero {
		*field = def
	}
}

// Or returns b with those fields of a that are not zero. Both are structs.
func Or[T any](a, b T) T {
	own, out := reflect.ValueOf(a), reflect.ValueOf(&b).Elem()
	for i := range own.NumField() {
		if own.Type().Field(i).IsExported() && !own.Field(i).IsZero() {
			out.Field(i).Set(own.Field(i))
		}
	}
	return b
}
