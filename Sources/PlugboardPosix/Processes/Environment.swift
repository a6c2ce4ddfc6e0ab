// This process's environment, and its own program, as values to hand to children.

/// The variables of this process.
public enum Environment {
    /// All of them, as `NAME=value`.
    public static func all() -> [String] {
        var variables: [String] = []
        var place = EnvironmentBlock.first()
        while let entry = place?.pointee {
            variables.append(String(cString: entry))
            place = place?.advanced(by: 1)
        }
        return variables
    }

    /// All of them with these added; each replaces one of the same name.
    public static func all(with changes: KeyValuePairs<String, String>) -> [String] {
        let kept = all().filter { variable in
            !changes.contains { variable.hasPrefix($0.key + "=") }
        }
        return kept + changes.map { "\($0.key)=\($0.value)" }
    }
}
