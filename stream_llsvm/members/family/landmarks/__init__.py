"""Linear machines over similarities to landmarks: L3-SVM."""
