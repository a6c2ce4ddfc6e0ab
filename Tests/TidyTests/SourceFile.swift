// The Swift files of this package, as the rules see them: line by line, with comments and
// string literals and without.

import Foundation

/// One Swift file.
struct SourceFile: CustomStringConvertible {
    /// Relative to the package.
    let path: String
    let lines: [String]
    /// The same lines with only the code. The rest is spaces.
    let code: [String]

    var description: String { path }

    init(path: String, text: String) {
        self.path = path
        lines = Self.split(text)
        code = Self.split(CodeOnly.text(of: text))
    }

    /// `path:line`, so that a person can click on it. `index` counts from 0.
    func place(_ index: Int) -> String { "\(path):\(index + 1)" }

    private static func split(_ text: String) -> [String] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last == "" { lines.removeLast() }
        return lines
    }
}

/// The package's folder.
enum SourceTree {
    static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static let everything = Result {
        try ["Sources", "plugins", "Tests"].flatMap { folder in
            let names = try FileManager.default.subpathsOfDirectory(
                atPath: package.appendingPathComponent(folder).path
            )
            return try names.filter { $0.hasSuffix(".swift") }.sorted().map { name in
                SourceFile(path: "\(folder)/\(name)", text: try text(of: "\(folder)/\(name)"))
            }
        }
    }

    /// The Swift files in these folders, sorted by path.
    static func files(in folders: String...) throws -> [SourceFile] {
        try everything.get().filter { file in folders.contains { file.path.hasPrefix("\($0)/") } }
    }

    /// The names in a folder.
    static func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: package.appendingPathComponent(folder).path)
            .sorted()
    }

    static func text(of path: String) throws -> String {
        String(decoding: try Data(contentsOf: package.appendingPathComponent(path)), as: UTF8.self)
    }
}
