// Package origins writes origins once in an encoding, and then their places in a [Table].
package origins
