// The rules of the house that a machine can check. Each returns the places that break it,
// as `path:line: what is wrong`. Tests show that each rule finds what it should.

enum Rules {
    static let fileLinesMax = 1_200
    static let functionLinesMax = 70

    static func length(_ file: SourceFile) -> [String] {
        guard file.lines.count > fileLinesMax else { return [] }
        return ["\(file.path):\(file.lines.count): more than \(fileLinesMax) lines"]
    }

    static func functions(_ file: SourceFile) -> [String] {
        file.code.indices.compactMap { start in
            guard let name = declaration(file.code[start]), let end = end(of: start, in: file.code) else {
                return nil
            }
            let count = end - start + 1
            guard count > functionLinesMax else { return nil }
            return "\(file.place(start)): \(name) has \(count) lines"
        }
    }

    /// The functions that take more than four parameters, and those that change three or more of them.
    /// Initialisers don't count: what they take is mostly plain data.
    static func wideFunctions(_ file: SourceFile) -> (wide: [String], changing: [String]) {
        var found: (wide: [String], changing: [String]) = ([], [])
        for start in file.code.indices where file.code[start].contains("func ") {
            let list = parameters(from: start, in: file.code)
            let name = "\(file.place(start)): \(list.count) parameters"
            if list.count > parametersMax { found.wide.append(name) }
            if list.count(where: { $0.contains("inout ") }) > changedMax { found.changing.append(name) }
        }
        return found
    }

    static let parametersMax = 4
    static let changedMax = 2

    /// The parameters of the function that is declared on a line.
    private static func parameters(from start: Int, in code: [String]) -> [String] {
        guard let name = code[start].firstMatch(of: /\bfunc [^(]+\(/) else { return [] }
        var (list, depth, angles) = ([""], 1, 0)
        var last: Character = " "
        for character in code[start][name.range.upperBound...] + code[(start + 1)...].prefix(40).joined() {
            if "([".contains(character) { depth += 1 }
            if ")]".contains(character) { depth -= 1 }
            if character == "<" { angles += 1 }
            if character == ">", last != "-" { angles -= 1 }
            if depth == 0 { break }
            if character == ",", depth == 1, angles == 0 {
                list.append("")
            } else {
                list[list.count - 1].append(character)
            }
            last = character
        }
        return list.filter { $0.contains { $0 != " " } }
    }

    static func traps(_ file: SourceFile) -> [String] {
        let forced = /[A-Za-z0-9_)\]}>?`]!(?!=)/
        return found(in: file, "fatalError") { $0.contains("fatalError") }
            + found(in: file, "something forced by \"!\"") {
                $0.utf8.contains(UInt8(ascii: "!")) && $0.contains(forced)
            }
    }

    /// A file opens with a comment that says its role.
    static func header(_ file: SourceFile) -> [String] {
        let comment = file.lines.prefix { $0.hasPrefix("//") }
        let words = comment.joined(separator: " ").split(separator: " ").count
        guard words > 3, comment.count <= 12 else {
            return ["\(file.place(0)): no opening comment of a few lines that says what the file is for"]
        }
        return []
    }

    /// Whether something in a file is marked as unsafe, or has to do with addresses.
    static func isUnsafe(_ file: SourceFile) -> Bool {
        file.code.contains { line in
            // A regular expression for every line would take most of the time.
            (line.contains("nsafe") || line.contains(".pointee"))
                && line.contains(/\bunsafe\b|Unsafe|\.pointee/)
        }
    }

    /// A file that uses unsafe memory says at its top why it may.
    static func argument(_ file: SourceFile) -> [String] {
        let comment = file.lines.prefix { $0.hasPrefix("//") }
        if comment.contains(where: { $0.hasPrefix("// Why ") }) { return [] }
        return ["\(file.place(0)): no paragraph at the top that says why unsafe memory may be used"]
    }

    static func imports(_ file: SourceFile, allowed: Set<String>) -> [String] {
        file.code.indices.compactMap { index in
            guard let module = importedModule(file.code[index]), !allowed.contains(module) else { return nil }
            return "\(file.place(index)): must not import \(module)"
        }
    }

    /// The module that a line imports.
    static func importedModule(_ line: String) -> String? {
        let kinds = ["struct", "class", "enum", "func", "var", "let", "protocol", "typealias"]
        guard line.contains("import ") else { return nil }
        let words = line.split(separator: " ")
        guard let start = words.firstIndex(of: "import"), words[..<start].allSatisfy(isModifier) else {
            return nil
        }
        let name = words[(start + 1)...].first { !kinds.contains(String($0)) }
        return name?.split(separator: ".").first.map(String.init)
    }

    private static func isModifier(_ word: Substring) -> Bool {
        word.hasPrefix("@") || ["public", "package", "internal", "private", "fileprivate"].contains(word)
    }

    private static let declaringWords = ["func ", "init", "subscript", "var "]

    /// The declaration on a line, if it has a body of statements.
    private static func declaration(_ line: String) -> Substring? {
        guard declaringWords.contains(where: { line.contains($0) }) else { return nil }
        let pattern = /\s*(?:@?\w+(?:\([^)]*\))? +)*?(func +[^(<]+|init|deinit|subscript|var +\w+)\b.*/
        return line.wholeMatch(of: pattern)?.1
    }

    /// The line of the brace that closes a declaration: `swift format` puts it below the first
    /// word. Nil if there is no body, or all of it is on one line.
    private static func end(of start: Int, in code: [String]) -> Int? {
        let indent = indentation(code[start])
        for index in code.indices.dropFirst(start + 1) {
            let line = code[index]
            guard let first = line.first(where: { $0 != " " }), indentation(line) <= indent else { continue }
            if indentation(line) < indent { return nil }
            if first == "}" { return index }
            // Lines that continue the declaration begin with one of these.
            let continues = first == ")" || first == "{" || line.dropFirst(indent).hasPrefix("where ")
            if !continues { return nil }
        }
        return nil
    }

    private static func indentation(_ line: String) -> Int {
        line.utf8.prefix { $0 == UInt8(ascii: " ") }.count
    }

    private static func found(
        in file: SourceFile, _ what: String, where isFound: (String) -> Bool
    ) -> [String] {
        file.code.indices.filter { isFound(file.code[$0]) }.map { "\(file.place($0)): \(what)" }
    }
}
