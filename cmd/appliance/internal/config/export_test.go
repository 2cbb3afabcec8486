package config

func Defaults() map[string]any { return defaults() }
func Secrets() []string        { return secrets() }
