"""What river published of itself: accuracy and F1 in percent, to stand beside what is measured.

From the pages docs/benchmarks/Binary classification/index.md and docs/benchmarks/Multiclass
classification/index.md of github.com/online-ml/river, which say that river 0.19.0 was measured. The
newest text of them that was found; later versions measure time only. SMTP, Insects and Keystroke,
which they have too, are not with river and are left out.
"""

from __future__ import annotations

SOURCE = (
    "docs/benchmarks of river's repository, at commit 7468665, which names river 0.19.0; quoted, "
    "not run here."
)
PUBLISHED: dict[str, dict[str, tuple[float, float]]] = {
    "Bananas": {
        "ADWIN Bagging": (62.60, 44.82),
        "ALMA": (50.64, 48.26),
        "AdaBoost": (67.79, 64.50),
        "Adaptive Random Forest": (88.70, 87.17),
        "Aggregated Mondrian Forest": (88.94, 87.42),
        "Bagging": (63.41, 45.94),
        "Hoeffding Adaptive Tree": (61.65, 42.83),
        "Hoeffding Tree": (64.22, 50.34),
        "Leveraging Bagging": (82.83, 80.27),
        "Logistic regression": (54.32, 19.70),
        "Naive Bayes": (61.52, 41.39),
        "Stacking": (87.62, 85.96),
        "Streaming Random Patches": (87.17, 85.43),
        "Voting": (87.26, 84.92),
        "Vowpal Wabbit logistic regression": (55.13, 0.00),
        "[baseline] Last Class": (50.95, 45.30),
        "k-Nearest Neighbors": (88.51, 87.08),
        "sklearn SGDClassifier": (54.64, 20.50),
    },
    "Elec2": {
        "ADWIN Bagging": (82.38, 77.66),
        "ALMA": (90.64, 88.98),
        "AdaBoost": (88.06, 85.87),
        "Adaptive Random Forest": (87.66, 85.24),
        "Aggregated Mondrian Forest": (84.99, 81.97),
        "Bagging": (84.04, 80.21),
        "Hoeffding Adaptive Tree": (82.13, 78.73),
        "Hoeffding Tree": (79.56, 75.08),
        "Leveraging Bagging": (89.27, 87.20),
        "Logistic regression": (82.21, 77.71),
        "Naive Bayes": (72.87, 60.38),
        "Stacking": (88.55, 86.42),
        "Streaming Random Patches": (86.89, 84.30),
        "Voting": (84.37, 79.80),
        "Vowpal Wabbit logistic regression": (69.75, 45.96),
        "[baseline] Last Class": (85.33, 82.72),
        "k-Nearest Neighbors": (85.31, 82.36),
        "sklearn SGDClassifier": (81.91, 77.29),
    },
    "Phishing": {
        "ADWIN Bagging": (89.35, 87.92),
        "ALMA": (82.56, 81.08),
        "AdaBoost": (87.83, 86.36),
        "Adaptive Random Forest": (90.79, 89.61),
        "Aggregated Mondrian Forest": (90.47, 89.21),
        "Bagging": (89.35, 87.92),
        "Hoeffding Adaptive Tree": (87.43, 85.61),
        "Hoeffding Tree": (87.99, 86.06),
        "Leveraging Bagging": (89.43, 87.73),
        "Logistic regression": (88.72, 87.12),
        "Naive Bayes": (88.47, 87.14),
        "Stacking": (89.51, 88.27),
        "Streaming Random Patches": (91.35, 90.20),
        "Voting": (89.67, 88.45),
        "Vowpal Wabbit logistic regression": (77.36, 66.98),
        "[baseline] Last Class": (51.56, 44.75),
        "k-Nearest Neighbors": (88.15, 86.71),
        "sklearn SGDClassifier": (88.96, 87.61),
    },
    "ImageSegments": {
        "ADWIN Bagging": (77.78, 76.50),
        "AdaBoost": (80.47, 79.78),
        "Adaptive Random Forest": (81.85, 81.45),
        "Aggregated Mondrian Forest": (90.17, 90.04),
        "Bagging": (77.70, 76.46),
        "Hoeffding Adaptive Tree": (77.44, 76.34),
        "Hoeffding Tree": (77.61, 76.31),
        "Leveraging Bagging": (77.83, 76.60),
        "Naive Bayes": (73.19, 73.04),
        "Stacking": (86.79, 86.56),
        "Streaming Random Patches": (76.70, 76.47),
        "Voting": (80.64, 79.90),
        "[baseline] Last Class": (14.81, 14.81),
        "k-Nearest Neighbors": (87.35, 87.21),
    },
}
