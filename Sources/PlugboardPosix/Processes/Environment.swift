// This process's environment, and its own program, as values to hand to children.
//
// Why its pointers are safe: the C library keeps a NUL behind each text and behind the list of
// them, and what it lends is copied at once. The variables are changed only where a program begins
// or ends, not while other threads read them.

/// The variables of this process.
public enum Environment {
    /// All of them, as `NAME=value`.
    public static func all() -> [String] {
        var variables: [String] = []
        var place = unsafe EnvironmentBlock.first()
        while let entry = unsafe place?.pointee {
            unsafe variables.append(String(cString: entry))
            unsafe place = place?.advanced(by: 1)
        }
        return variables
    }

    /// One of them; nil if it isn't set.
    static func variable(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    static func set(_ name: String, _ value: String) {
        unsafe setenv(name, value, 1)
    }

    static func remove(_ name: String) {
        unsafe unsetenv(name)
    }

    /// All of them with these added; each replaces one of the same name.
    public static func all(with changes: KeyValuePairs<String, String>) -> [String] {
        let kept = all().filter { variable in
            !changes.contains { variable.hasPrefix($0.key + "=") }
        }
        return kept + changes.map { "\($0.key)=\($0.value)" }
    }
}
