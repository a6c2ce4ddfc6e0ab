// Made by .ci/page from plugins/dashboard/page/tree.js: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let treeJS: StaticString = ##"""
// stub
"""##
}
