// The names of types. Each stands for one thing in the whole project, so that a search for the name finds that
// thing.

enum Names {
    /// Types that more than one file sees and that are declared more than once. A declaration inside
    /// `#if` is indented and isn't found, because each system has only one of them.
    static func repeated(in files: [SourceFile]) -> [String] {
        var places: [String: [String]] = [:]
        for file in files {
            for (index, line) in file.code.enumerated() {
                if let name = declared(line) { places[name, default: []].append(file.place(index)) }
            }
        }
        return places.filter { $0.value.count > 1 }
            .map { "\($0.key) is declared \($0.value.count) times: \($0.value.joined(separator: ", "))" }
            .sorted()
    }

    private static let keywords = ["struct ", "class ", "enum ", "protocol ", "actor ", "typealias "]

    /// The type that a line declares and other files can see; nil if there is none.
    static func declared(_ line: String) -> String? {
        guard let first = line.first, first != " ", !line.contains("private ") else { return nil }
        // A regular expression for every line would take most of the time.
        guard keywords.contains(where: { line.contains($0) }) else { return nil }
        let pattern = /(?:@?\w+(?:\([^)]*\))? +)*?(?:struct|class|enum|protocol|actor|typealias) +(\w+).*/
        return line.wholeMatch(of: pattern).map { String($0.1) }
    }
}
