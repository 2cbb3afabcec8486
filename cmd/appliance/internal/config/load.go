package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/knadh/koanf/parsers/toml/v2"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

const (
	envPrefix = "LARDER_"
	maxFile   = 1 << 20 // bytes of a settings or secret file that are read
)

// Load puts the settings together. environ is os.Environ's form; flags are the
// parsed command line, of which only the settings that were given count; the
// file is the one that --config or LARDER_CONFIG names, if any.
//
// Errors name the setting and where it was set.
func Load(flags *pflag.FlagSet, environ []string) (Config, error) {
	k, err := merge(flags, environ)
	if err != nil {
		return Config{}, err
	}
	if err := readSecrets(k); err != nil {
		return Config{}, err
	}
	return decode(k)
}

// merge lays the four layers over one another.
func merge(flags *pflag.FlagSet, environ []string) (*koanf.Koanf, error) {
	k := koanf.New(".")
	if err := k.Load(confmap.Provider(defaults(), ""), nil); err != nil {
		return nil, err
	}
	env, file, err := fromEnviron(environ)
	if err != nil {
		return nil, err
	}
	if f := flags.Lookup("config"); f != nil && f.Changed {
		file = f.Value.String()
	}
	if err := loadFile(k, file); err != nil {
		return nil, err
	}
	if err := k.Load(confmap.Provider(env, ""), nil); err != nil {
		return nil, err
	}
	return k, k.Load(posflag.Provider(settingFlags(flags), ".", k), nil)
}

// decode turns the merged settings into a checked Config.
func decode(k *koanf.Koanf) (Config, error) {
	var c Config
	if err := k.Unmarshal("", &c); err != nil {
		return Config{}, fmt.Errorf("settings: %w", err)
	}
	if err := c.check(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// fromEnviron returns the settings in the environment and the settings file
// that LARDER_CONFIG names. A LARDER_ variable that is no setting is refused.
func fromEnviron(environ []string) (settings map[string]any, file string, err error) {
	settings = map[string]any{}
	known := defaults()
	var errs []error
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		key, ours := strings.CutPrefix(name, envPrefix)
		if !ours {
			continue
		}
		if key == "CONFIG" {
			file = value
			continue
		}
		setting := strings.ToLower(strings.ReplaceAll(key, "_", "-"))
		switch known[setting].(type) {
		case nil:
			errs = append(errs, fmt.Errorf("%s: there is no such setting%s", name, suggest(setting)))
		case []string:
			settings[setting] = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
		default:
			settings[setting] = value
		}
	}
	return settings, file, errors.Join(errs...)
}

// loadFile adds the settings of a TOML file. "" is no file.
func loadFile(k *koanf.Koanf, name string) error {
	if name == "" {
		return nil
	}
	text, err := readBounded(name)
	if err != nil {
		return fmt.Errorf("settings file: %w", err)
	}
	file := koanf.New(".")
	if err := file.Load(rawbytes.Provider(text), toml.Parser()); err != nil {
		return fmt.Errorf("settings file %s: %w", name, err)
	}
	known := defaults()
	var errs []error
	for _, key := range file.Keys() {
		if _, ok := known[key]; !ok {
			errs = append(errs, fmt.Errorf("%s: there is no setting %q%s", name, key, suggest(key)))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return k.Merge(file)
}

// settingFlags keeps the flags that are settings: --help and --config are not.
func settingFlags(flags *pflag.FlagSet) *pflag.FlagSet {
	out := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	known := defaults()
	flags.VisitAll(func(f *pflag.Flag) {
		if _, ok := known[f.Name]; ok {
			out.AddFlag(f)
		}
	})
	return out
}

// readSecrets replaces each secret whose -file twin is set by that file's
// first line. Setting both is refused: one of them would be silently ignored.
func readSecrets(k *koanf.Koanf) error {
	for _, name := range secrets() {
		file := k.String(name + "-file")
		if file == "" {
			continue
		}
		if k.String(name) != "" {
			return fmt.Errorf("%s and %s-file are both set: choose one", name, name)
		}
		text, err := readBounded(file)
		if err != nil {
			return fmt.Errorf("%s-file: %w", name, err)
		}
		line, _, _ := bytes.Cut(text, []byte("\n"))
		secret := strings.TrimSuffix(string(line), "\r")
		if secret == "" {
			return fmt.Errorf("%s-file: %s begins with an empty line", name, file)
		}
		if err := k.Set(name, secret); err != nil {
			return err
		}
	}
	return nil
}

// readBounded reads a file that an administrator wrote, of at most maxFile bytes.
func readBounded(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s: %d bytes are too many for a settings file", name, info.Size())
	}
	return os.ReadFile(name)
}

// suggest names the setting that was probably meant, or all of them.
func suggest(wrong string) string {
	var names []string
	for name := range defaults() {
		names = append(names, name)
	}
	sort.Strings(names)
	near := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, wrong) || closeTo(n, wrong) })
	if near >= 0 {
		return fmt.Sprintf("; did you mean %s?", names[near])
	}
	return "; there are " + strings.Join(names, ", ")
}

// closeTo tells whether one edit (a letter too many, too few, other or two
// swapped) leads from a to b.
func closeTo(a, b string) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	a, b = a[i:], b[i:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	swapped := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	return swapped || len(a) <= 1 && len(b) <= 1
}

// LoadClient is Load for the commands that speak to a running server or open its
// folder while it is stopped: they need the folders alone, so that the server's
// other settings may be incomplete where they run. Unknown settings are refused all the same.
func LoadClient(flags *pflag.FlagSet, environ []string) (Config, error) {
	k, err := merge(flags, environ)
	if err != nil {
		return Config{}, err
	}
	c := Config{Data: k.String("data"), BlobDir: k.String("blob-dir"), SegmentSize: k.Int64("segment-size")}
	if c.Data == "" {
		return Config{}, errors.New("data: name a folder")
	}
	return c, nil
}
