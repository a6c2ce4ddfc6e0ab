// The names of types: each stands for one thing in the whole project, so that who searches for it
// finds that thing.

enum Names {
    /// The library's words for what the broker keeps: the broker's own types still share them.
    static let shared: Set<String> = ["Call", "Event", "Subscription"]

    /// Types that more than one file sees, and that another file declares again. What stands within a
    /// condition of the compiler isn't at the beginning of its line: one system has one of them.
    static func repeated(in files: [SourceFile]) -> [String] {
        var places: [String: [String]] = [:]
        for file in files {
            for (index, line) in file.code.enumerated() {
                if let name = declared(line) { places[name, default: []].append(file.place(index)) }
            }
        }
        return places.filter { $0.value.count > 1 && !shared.contains($0.key) }
            .map { "\($0.key) is declared \($0.value.count) times: \($0.value.joined(separator: ", "))" }
            .sorted()
    }

    private static let keywords = ["struct ", "class ", "enum ", "protocol ", "actor ", "typealias "]

    /// The type that a line declares for other files.
    static func declared(_ line: String) -> String? {
        guard let first = line.first, first != " ", !line.contains("private ") else { return nil }
        // A regular expression for every line would take most of the time.
        guard keywords.contains(where: { line.contains($0) }) else { return nil }
        let pattern = /(?:@?\w+(?:\([^)]*\))? +)*?(?:struct|class|enum|protocol|actor|typealias) +(\w+).*/
        return line.wholeMatch(of: pattern).map { String($0.1) }
    }
}
